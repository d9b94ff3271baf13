package httpretry_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/anthropics/anthropic-sdk-go"
	anthropicoption "github.com/anthropics/anthropic-sdk-go/option"
	"github.com/openai/openai-go/v3"
	openaioption "github.com/openai/openai-go/v3/option"
	"github.com/stretchr/testify/require"

	"example.com/backoff"
	"example.com/backoff/httpretry"
)

// The clients of OpenAI and Anthropic, with the options that docs/recipes.md names, leave the retries to httpretry.
func TestModelClients(t *testing.T) {
	for name, ask := range map[string]func(ctx context.Context, url string, client *http.Client) error{
		"OpenAI": func(ctx context.Context, url string, client *http.Client) error {
			api := openai.NewClient(openaioption.WithAPIKey("key"), openaioption.WithBaseURL(url),
				openaioption.WithHTTPClient(client), openaioption.WithMaxRetries(0))
			_, err := api.Chat.Completions.New(ctx, openai.ChatCompletionNewParams{
				Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("question")},
			})
			return err
		},
		"Anthropic": func(ctx context.Context, url string, client *http.Client) error {
			api := anthropic.NewClient(anthropicoption.WithAPIKey("key"), anthropicoption.WithBaseURL(url),
				anthropicoption.WithHTTPClient(client), anthropicoption.WithMaxRetries(0))
			_, err := api.Messages.New(ctx, anthropic.MessageNewParams{
				MaxTokens: 100,
				Messages:  []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock("question"))},
			})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			requests := 0
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				requests++
				w.WriteHeader(http.StatusTooManyRequests)
			}))
			defer server.Close()
			transport := &httpretry.Transport{
				MaxAttempts: 3,
				Policy:      func() backoff.BackOff { return &backoff.ZeroBackOff{} },
			}

			err := ask(t.Context(), server.URL, &http.Client{Transport: transport})
			require.ErrorContains(t, err, "429")
			require.Equal(t, 3, requests)
		})
	}
}
