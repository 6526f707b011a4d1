// Command propagation-watch waits until public resolvers all over the world have seen a change in the DNS.
//
//	go run ./examples/propagation-watch www.example.com     asks the Internet each minute
//	go run ./examples/propagation-watch -once               watches a move in memory, by a clock that needs no waiting
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/diag/propagation"
	"github.com/miekg/dns"
)

func main() {
	once := flag.Bool("once", false, "watch a move in a world in memory")
	flag.Parse()
	name, env, wait := flag.Arg(0), (*diag.Env)(nil), time.Sleep
	if *once {
		world, err := newMovingWorld()
		if err != nil {
			log.Fatal(err)
		}
		defer world.Close()
		name, env, wait = "www.example.com", world.Env(), world.Advance
	}
	if err := watch(context.Background(), env, name, wait); err != nil {
		log.Fatal(err)
	}
}

// watch queries until all agree. Resolvers cache an answer for its TTL: more frequent queries are of no use.
func watch(ctx context.Context, env *diag.Env, text string, wait func(time.Duration)) error {
	name, err := diag.ParseName(text)
	if err != nil {
		return err
	}
	for {
		report, err := propagation.Check(ctx, env, propagation.Request{Name: name})
		if err != nil {
			return err
		}
		s := report.Summary
		fmt.Printf("%s  %3d%%  %d of %d resolvers have %v\n", env.Now().Format(time.TimeOnly), s.PropagationPercent,
			s.MatchCount, s.AnsweredCount, report.Authoritative.Values)
		if s.PropagationPercent == 100 {
			return nil
		}
		wait(time.Minute)
	}
}

// newMovingWorld is an Internet in which two resolvers have the old address for some time.
func newMovingWorld() (*diagtest.World, error) {
	world, err := diagtest.New(diagtest.Config{Zone: `
		example.com.     SOA ns1.example.com. hostmaster.example.com. 2 7200 3600 1209600 300
		example.com.     NS  ns1.example.com.
		ns1.example.com. A   192.0.2.53
		www.example.com. A   192.0.2.80`})
	if err != nil {
		return nil, err
	}
	world.ServeZones()
	for resolver, questions := range map[string]int{"9.9.9.9": 1, "8.8.8.8": 3} {
		world.Resolver(resolver).Fault("www.example.com", dns.TypeA, diagtest.Fault{
			Answers: []string{"www.example.com. 180 A 192.0.2.7"}, Times: questions,
		})
	}
	return world, world.Err()
}
