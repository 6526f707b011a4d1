package main

import (
	_ "embed"
	"encoding/base64"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/diagkit/diagkit/httpapi"
)

// A stop of the tour is a call worth trying. One without a check examines all of a domain.
type stop struct {
	about  string
	check  string // path of the endpoint
	args   string // for the command line
	fields string // of the request, as JSON
	status int
	sees   string // part of the reply
}

// tourText are the stops: of each four lines for what it shows, the check with its arguments, the fields, and the status
// with what is seen. Before the line of equals signs stands the story.
//
//go:embed tour.txt
var tourText string

// What stands in the braces of tour.txt is in these files: an aggregate report of DMARC about plain.example, a mark
// certificate of example.com, a certificate signing request without subject alternative names, and a QR code of a Wi-Fi
// network.
var (
	//go:embed report.xml
	report string
	//go:embed mark.pem
	markText string
	//go:embed request.pem
	signingText string
	//go:embed code.png
	codeImage []byte
)

// tour lists the stops: a story first, then all that can be tried. Letters are sent a minute before the time.
func tour(at time.Time) []stop { return append(story(), singles(at)...) }

// story goes from a domain where nothing is right to one where all is, and then through the faults of a company as
// somebody would who is called for help: each stop explains a line of the screen before.
func story() []stop {
	text, _, _ := strings.Cut(tourText, "====")
	return stops(text, strings.NewReplacer())
}

// singles are operations in order, each with what it can find.
func singles(at time.Time) []stop {
	_, text, _ := strings.Cut(tourText, "====")
	return stops(text, strings.NewReplacer(
		"{report}", strconv.Quote(report), "{mark}", strconv.Quote(markText), "{request}", strconv.Quote(signingText),
		"{code}", base64.StdEncoding.EncodeToString(codeImage), "{header}", forgedHeader,
		"{profile}", profileID, "{broken}", brokenProfileID,
		"{letter}", letter{"mx1.good.example", "192.0.2.12", true}.base64(at),
		"{forgery}", letter{"vps.rented.example", "203.0.113.77", false}.base64(at),
	))
}

func stops(text string, fill *strings.Replacer) (list []stop) {
	for block := range strings.SplitSeq(strings.TrimSpace(text), "\n\n") {
		lines := strings.Split(block, "\n")
		s := stop{about: lines[0], fields: fill.Replace(lines[2])}
		s.check, s.args, _ = strings.Cut(fill.Replace(lines[1]), " ")
		fmt.Sscan(lines[3], &s.status)
		_, s.sees, _ = strings.Cut(lines[3], " ")
		if s.check == "-" {
			s.check, s.fields, s.status = "", "", 0
		}
		list = append(list, s)
	}
	return list
}

// forgedHeader is the header of a forged message, as JSON has it.
const forgedHeader = `Received: from vps77.example ([192.0.2.77]) by mx1.good.example with ESMTP; Sun, 01 Nov 2026 09:00:04 +0000\n` +
	`Authentication-Results: mx1.good.example; spf=fail smtp.mailfrom=boss@good.example; dmarc=fail (p=reject) header.from=good.example\n` +
	`From: The boss <boss@good.example>\nTo: office@good.example\nSubject: Urgent payment\nDate: Sun, 01 Nov 2026 09:00:00 +0000\n`

// request says what a client sends: the fields are in the body, or in path and query.
func (s stop) request() (method, target, body string, err error) {
	for _, ep := range httpapi.Endpoints() {
		if ep.Name() == s.check {
			target, text, err := ep.Target([]byte(s.fields))
			return ep.Method, target, string(text), err
		}
	}
	return "", "", "", fmt.Errorf("there is no check %s", s.check)
}

const authorization = `-H "Authorization: Bearer $DIAG_KEY"`

// printTour tells a visitor what to try.
func printTour(w io.Writer, url, secret string) error {
	fmt.Fprintf(w, "The API is at %s%s, its description at %[1]s%[2]s/openapi.json\n", url, httpapi.Prefix)
	fmt.Fprintf(w, "It speaks of a small Internet in memory: nothing leaves this machine, and nothing is kept.\n\n")
	fmt.Fprintf(w, "  export DIAG_SERVER=%s\n  export DIAG_KEY=%s\n", url, secret)
	for _, s := range tour(time.Now()) {
		fmt.Fprintf(w, "\n# %s\n", s.about)
		if s.check == "" {
			fmt.Fprintf(w, "  go run ./cmd/diag %s --server %s\n", s.args, url)
			continue
		}
		method, target, body, err := s.request()
		if err != nil {
			return fmt.Errorf("%s: %w", s.about, err)
		}
		path, _, _ := strings.Cut(target, "?")
		check := strings.TrimPrefix(path, httpapi.Prefix+"/") // its name, with ids in their places
		fmt.Fprintf(w, "  go run ./cmd/diag %s --server %s\n", strings.TrimSpace(check+" "+s.args), url)
		fmt.Fprintf(w, "  curl -s -X %s '%s%s' %s", method, url, target, authorization)
		if body != "" {
			fmt.Fprintf(w, " -H 'Content-Type: application/json' -d '%s'", body)
		}
		fmt.Fprintln(w)
	}
	fmt.Fprintln(w)
	return nil
}
