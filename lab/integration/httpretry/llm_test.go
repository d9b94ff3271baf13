package httpretry_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/anthropics/anthropic-sdk-go"
	anthropicoption "github.com/anthropics/anthropic-sdk-go/option"
	"github.com/openai/openai-go/v3"
	openaioption "github.com/openai/openai-go/v3/option"
	"github.com/stretchr/testify/require"

	"example.com/backoff"
	"example.com/backoff/httpretry"
	"example.com/backoff/lab/integration/pipes"
)

// An llm is the Go client of a language model's API, with its own retries turned off. Both functions return the
// answer to a question.
type llm struct {
	name   string
	ask    func(ctx context.Context, client *http.Client, question string) (string, error)
	stream func(ctx context.Context, client *http.Client, question string) (string, error)
}

var llms = []llm{
	{"OpenAI", askOpenAI, streamOpenAI},
	{"Anthropic", askAnthropic, streamAnthropic},
}

func newOpenAI(client *http.Client) openai.Client {
	return openai.NewClient(openaioption.WithAPIKey("key"), openaioption.WithBaseURL("http://api.test/v1"),
		openaioption.WithHTTPClient(client), openaioption.WithMaxRetries(0))
}

func openaiParams(question string) openai.ChatCompletionNewParams {
	return openai.ChatCompletionNewParams{
		Model:    "model",
		Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage(question)},
	}
}

func askOpenAI(ctx context.Context, client *http.Client, question string) (string, error) {
	api := newOpenAI(client)
	completion, err := api.Chat.Completions.New(ctx, openaiParams(question))
	if err != nil {
		return "", err
	}
	return completion.Choices[0].Message.Content, nil
}

func streamOpenAI(ctx context.Context, client *http.Client, question string) (string, error) {
	api := newOpenAI(client)
	stream := api.Chat.Completions.NewStreaming(ctx, openaiParams(question))
	defer stream.Close()

	var answer strings.Builder
	for stream.Next() {
		answer.WriteString(stream.Current().Choices[0].Delta.Content)
	}
	return answer.String(), stream.Err()
}

func newAnthropic(client *http.Client) anthropic.Client {
	return anthropic.NewClient(anthropicoption.WithAPIKey("key"), anthropicoption.WithBaseURL("http://api.test"),
		anthropicoption.WithHTTPClient(client), anthropicoption.WithMaxRetries(0))
}

func anthropicParams(question string) anthropic.MessageNewParams {
	return anthropic.MessageNewParams{
		Model:     "model",
		MaxTokens: 100,
		Messages:  []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock(question))},
	}
}

func askAnthropic(ctx context.Context, client *http.Client, question string) (string, error) {
	api := newAnthropic(client)
	message, err := api.Messages.New(ctx, anthropicParams(question))
	if err != nil {
		return "", err
	}
	return message.Content[0].Text, nil
}

func streamAnthropic(ctx context.Context, client *http.Client, question string) (string, error) {
	api := newAnthropic(client)
	stream := api.Messages.NewStreaming(ctx, anthropicParams(question))
	defer stream.Close()

	var answer strings.Builder
	for stream.Next() {
		answer.WriteString(stream.Current().Delta.Text)
	}
	return answer.String(), stream.Err()
}

// An api answers the questions of both clients, and counts what it bills.
type api struct {
	perSecond int           // questions that it takes in a second; further ones get a 429; zero is no limit
	thinks    time.Duration // before an answer
	pause     time.Duration // after each part of a stream
	stalls    bool          // in the middle of a stream

	mu       sync.Mutex
	requests int
	billed   int       // questions taken
	second   time.Time // in which it took
	taken    int       // questions
}

// take bills a question, and reports whether it did.
func (a *api) take() bool {
	a.mu.Lock()
	defer a.mu.Unlock()

	a.requests++
	if now := time.Now().Truncate(time.Second); now.After(a.second) {
		a.second = now
		a.taken = 0
	}
	if a.perSecond > 0 && a.taken == a.perSecond {
		return false
	}
	a.taken++
	a.billed++
	return true
}

func (a *api) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil || !json.Valid(body) || !strings.Contains(string(body), "question") {
		w.WriteHeader(http.StatusUnprocessableEntity)
		return
	}
	if !a.take() {
		w.Header().Set("Retry-After", "1")
		w.WriteHeader(http.StatusTooManyRequests)
		return
	}

	select {
	case <-time.After(a.thinks):
	case <-r.Context().Done():
		return
	}
	answer, part := anthropicAnswer, anthropicPart
	if strings.HasSuffix(r.URL.Path, "/chat/completions") {
		answer, part = openaiAnswer, openaiPart
	}
	if strings.Contains(string(body), `"stream":true`) {
		a.stream(w, r, part)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	io.WriteString(w, answer)
}

// What the two APIs send: an answer, and a part of one.
const (
	openaiAnswer    = `{"object": "chat.completion", "choices": [{"message": {"role": "assistant", "content": "answer"}}]}`
	openaiPart      = `data: {"choices": [{"delta": {"content": "%d "}}]}` + "\n\n"
	anthropicAnswer = `{"type": "message", "role": "assistant", "content": [{"type": "text", "text": "answer"}]}`
	anthropicPart   = "event: content_block_delta\n" +
		`data: {"type": "content_block_delta", "delta": {"type": "text_delta", "text": "%d "}}` + "\n\n"
)

// stream sends ten parts of an answer, or stalls after five.
func (a *api) stream(w http.ResponseWriter, r *http.Request, part string) {
	w.Header().Set("Content-Type", "text/event-stream")
	for i := range 10 {
		if a.stalls && i == 5 {
			<-r.Context().Done()
			return
		}
		fmt.Fprintf(w, part, i)
		w.(http.Flusher).Flush()
		time.Sleep(a.pause)
	}
}

// serve calls f in simulated time, with a client of the API over HTTP/1 or HTTP/2.
func serve(t *testing.T, major int, a *api, transport *httpretry.Transport, f func(t *testing.T, client *http.Client)) {
	synctest.Test(t, func(t *testing.T) {
		protocols := new(http.Protocols)
		protocols.SetHTTP1(major == 1)
		protocols.SetUnencryptedHTTP2(major == 2)
		listener := pipes.Listen()
		server := &http.Server{Handler: a, Protocols: protocols}
		go server.Serve(listener)

		transport.Base = &http.Transport{DialContext: listener.Dial, Protocols: protocols}
		client := &http.Client{Transport: transport}
		f(t, client)

		client.CloseIdleConnections()
		server.Close()
		time.Sleep(time.Second) // until the server's connections have ended
	})
}

// eachLLM calls f for both clients and both protocols.
func eachLLM(t *testing.T, f func(t *testing.T, model llm, major int)) {
	for _, model := range llms {
		for _, major := range []int{1, 2} {
			t.Run(fmt.Sprint(model.name, "/HTTP ", major), func(t *testing.T) { f(t, model, major) })
		}
	}
}

// patient repeats every question, and does not limit an attempt: an answer that is no stream takes minutes.
func patient() *httpretry.Transport {
	return &httpretry.Transport{
		AttemptTimeout: -1,
		Idempotent:     func(*http.Request) bool { return true },
	}
}

// Thirty questions are asked at once of an API that takes ten in a second. Each is answered, and billed once.
func TestLLMRateLimit(t *testing.T) {
	eachLLM(t, func(t *testing.T, model llm, major int) {
		for _, transport := range []*httpretry.Transport{
			new(httpretry.Transport),
			{Slots: backoff.NewSlots(5)}, // a quota of questions at once
			patient(),
		} {
			a := &api{perSecond: 10, thinks: 200 * time.Millisecond}
			serve(t, major, a, transport, func(t *testing.T, client *http.Client) {
				var answered atomic.Int32
				var group sync.WaitGroup
				for range 30 {
					group.Go(func() {
						answer, err := model.ask(t.Context(), client, "question")
						if err == nil && answer == "answer" {
							answered.Add(1)
						}
					})
				}
				group.Wait()
				require.EqualValues(t, 30, answered.Load())
				require.Equal(t, 30, a.billed)
			})
		}
	})
}

// A stream of 400 s is not cut, neither by AttemptTimeout nor by a BodyTimeout that is longer than its pauses.
func TestLLMStream(t *testing.T) {
	eachLLM(t, func(t *testing.T, model llm, major int) {
		limited := patient()
		limited.AttemptTimeout = 30 * time.Second
		limited.BodyTimeout = 41 * time.Second
		for _, transport := range []*httpretry.Transport{new(httpretry.Transport), limited, patient()} {
			a := &api{pause: 40 * time.Second}
			serve(t, major, a, transport, func(t *testing.T, client *http.Client) {
				start := time.Now()
				answer, err := model.stream(t.Context(), client, "question")
				require.NoError(t, err)
				require.Equal(t, "0 1 2 3 4 5 6 7 8 9 ", answer)
				require.Equal(t, 1, a.billed)
				require.Equal(t, 400*time.Second, time.Since(start))
			})
		}
	})
}

// A stream that stalls ends in time, with what had come and an error that says how much that was. It is not asked for
// again.
func TestLLMStall(t *testing.T) {
	eachLLM(t, func(t *testing.T, model llm, major int) {
		transport := patient()
		transport.BodyTimeout = 30 * time.Second
		a := &api{pause: time.Second, stalls: true}
		serve(t, major, a, transport, func(t *testing.T, client *http.Client) {
			start := time.Now()
			answer, err := model.stream(t.Context(), client, "question")
			require.Equal(t, "0 1 2 3 4 ", answer)
			require.ErrorIs(t, err, os.ErrDeadlineExceeded)
			require.ErrorIs(t, err, context.DeadlineExceeded)
			require.Regexp(t, "no data within 30s, after [1-9][0-9]+ bytes of the response's body", err.Error())
			require.Equal(t, 1, a.requests)
			require.Equal(t, (4+30)*time.Second, time.Since(start))
		})
	})
}
