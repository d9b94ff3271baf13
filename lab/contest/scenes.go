package main

import "time"

// scene is what a service and its clients go through.
type scene struct {
	name, about string
	length      time.Duration       // of the trouble
	begin, end  func(all []*server) // of the trouble; nil: the servers are well

	load    float64 // before the trouble, if it is not that of the flag
	procs   int     // if they are not those of the flag
	rate    float64 // calls in a second, if the capacity follows from them; else they follow from it
	servers int     // behind one name, each attempt goes to any of them; zero: one
	roomy   bool    // the service has workers for everything
	surge   float64 // factor of the traffic in the trouble; zero: 1
	known   bool    // who sets numbers knows of the surge
	crowd   int     // factor by which there are more processes from the trouble on, for the same calls; zero: 1
	burst   int     // calls at once, every 20 s
}

// shortScenes are the scenes that matter most.
var shortScenes = "down10,down60,restart10,half60,half180,fail30,hang30,oneof5,traffic4,healthy.8"

var scenes = []scene{
	{name: "down10", about: "hangs for 10 s, and keeps its queue", length: 10 * time.Second, begin: all(stop), end: all(goOn)},
	{name: "down60", about: "hangs for 60 s, and keeps its queue", length: time.Minute, begin: all(stop), end: all(goOn)},
	{name: "restart10", about: "hangs for 10 s, and loses all that it has", length: 10 * time.Second, begin: all(stop), end: all((*server).restart)},
	{name: "refuse10", about: "refuses all attempts for 10 s", length: 10 * time.Second, begin: refuse(1), end: refuse(0)},
	{name: "refuse60", about: "refuses all attempts for 60 s", length: time.Minute, begin: refuse(1), end: refuse(0)},
	{name: "half60", about: "has half of its capacity for 60 s", length: time.Minute, begin: all(halve), end: all(double)},
	{name: "half180", about: "has half of its capacity for 180 s", length: 3 * time.Minute, begin: all(halve), end: all(double)},
	{name: "fail30", about: "30 % of the attempts are refused, for 60 s", length: time.Minute, begin: refuse(0.3), end: refuse(0)},
	{name: "fail85", about: "85 % of the attempts are refused, for 60 s", length: time.Minute, begin: refuse(0.85), end: refuse(0)},
	{name: "hang5", about: "5 % of the attempts hang, for 60 s", length: time.Minute, begin: hang(0.05), end: hang(0)},
	{name: "hang30", about: "30 % of the attempts hang, for 60 s", length: time.Minute, begin: hang(0.3), end: hang(0)},
	{name: "hang50", about: "50 % of the attempts hang, for 60 s", length: time.Minute, begin: hang(0.5), end: hang(0)},
	{name: "hang70", about: "70 % of the attempts hang, for 60 s", length: time.Minute, begin: hang(0.7), end: hang(0)},
	{name: "oneof5", about: "one of five servers hangs for 60 s, and loses all that it has", length: time.Minute, servers: 5,
		begin: some(1, stop), end: some(1, (*server).restart)},
	{name: "twoof5", about: "two of five servers hang for 60 s, and lose all that they have", length: time.Minute, servers: 5,
		begin: some(2, stop), end: some(2, (*server).restart)},
	{name: "slow3", about: "answers take three times as long for 60 s, but no capacity", length: time.Minute, begin: all(slow), end: all(quicken)},
	{name: "crowd10", about: "hangs for 10 s; from then on four times the processes share the calls", length: 10 * time.Second,
		begin: all(stop), end: all(goOn), crowd: 4},
	{name: "traffic4", about: "four times the traffic for 10 s", length: 10 * time.Second, surge: 4},
	{name: "twice", about: "twice the traffic for 60 s, to load 0.8", length: time.Minute, load: 0.4, surge: 2, known: true},
	{name: "healthy.5", about: "a healthy day at load 0.5, 50 calls at once every 20 s", length: time.Minute, load: 0.5, burst: 50},
	{name: "healthy.8", about: "a healthy day at load 0.8, 50 calls at once every 20 s", length: time.Minute, load: 0.8, burst: 50},
	{name: "healthy.9", about: "a healthy day at load 0.9, 50 calls at once every 20 s", length: time.Minute, load: 0.9, burst: 50},
	{name: "low1", about: "one process with one call a second, the service is idle and hangs for 10 s", length: 10 * time.Second,
		begin: all(stop), end: all(goOn), procs: 1, rate: 1, roomy: true},
	{name: "low40", about: "40 processes with one call a second each, the service hangs for 10 s", length: 10 * time.Second,
		begin: all(stop), end: all(goOn), procs: 40, rate: 40},
}

// all makes a change of one server one of all of them, some of the first n.
func all(change func(*server)) func([]*server) {
	return func(servers []*server) { some(len(servers), change)(servers) }
}

func some(n int, change func(*server)) func([]*server) {
	return func(servers []*server) {
		for _, s := range servers[:n] {
			s.change(func() { change(s) })
		}
	}
}

func stop(s *server)    { s.stopped = true }
func goOn(s *server)    { s.stopped = false }
func halve(s *server)   { s.workers /= 2 }
func double(s *server)  { s.workers *= 2 }
func slow(s *server)    { s.delay = min(2*s.work, 350*time.Millisecond) }
func quicken(s *server) { s.delay = 0 }

func refuse(share float64) func([]*server) { return all(func(s *server) { s.refuses = share }) }
func hang(share float64) func([]*server)   { return all(func(s *server) { s.hangs = share }) }
