// Command many-domains checks a list of domains, some at a time, and writes a line of CSV for each.
//
//	go run ./examples/many-domains <domains.txt >result.csv     asks the Internet
//	go run ./examples/many-domains -once                        asks the small Internet of examples/demo
//
// For more than some hundred domains run a resolver of your own; "diag -f FILE --resume" goes on after an interruption.
package main

import (
	"bufio"
	"context"
	"encoding/csv"
	"flag"
	"io"
	"log"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/examples/demo/internet"
	"github.com/diagkit/diagkit/mailauth/domaincheck"
)

// parallel is how many domains are checked at once. Each asks some hundred questions.
const parallel = 8

func main() {
	once := flag.Bool("once", false, "check all domains of the demonstration")
	flag.Parse()
	list := io.Reader(os.Stdin)
	if *once {
		list = strings.NewReader(strings.Join(internet.Domains()[:6], "\n"))
	}
	env, release, err := internet.Choose(*once)
	if err != nil {
		log.Fatal(err)
	}
	defer release()
	env = env.Cached() // domains have name servers and mail servers in common: nothing is asked twice
	names, out := make(chan string), csv.NewWriter(os.Stdout)
	var mu sync.Mutex
	var workers sync.WaitGroup
	for range parallel {
		workers.Go(func() {
			for name := range names {
				line := check(env, name)
				mu.Lock()
				out.Write(line) // Flush tells of errors
				out.Flush()
				mu.Unlock()
			}
		})
	}
	lines := bufio.NewScanner(list)
	for lines.Scan() {
		names <- lines.Text()
	}
	close(names)
	workers.Wait()
	if err := out.Error(); err != nil {
		log.Fatal(err)
	}
}

// check never fails: that a domain could not be checked is a line, too.
func check(env *diag.Env, name string) []string {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	domain, err := diag.ParseDomain(name)
	if err != nil {
		return []string{name, "", "", err.Error()}
	}
	report, err := domaincheck.Check(ctx, env, domaincheck.Request{Domain: domain})
	if err != nil {
		return []string{name, "", "", err.Error()}
	}
	score := "" // absent where too little is known
	if report.Score != nil {
		score = strconv.Itoa(*report.Score)
	}
	return []string{name, string(report.State), score, report.Headline}
}
