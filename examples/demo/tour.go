package main

import (
	"bytes"
	"context"
	"crypto/ed25519"
	_ "embed"
	"encoding/base64"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/httpapi"
	"github.com/diagkit/diagkit/mailauth/hostedspf"
	"github.com/diagkit/diagkit/mailauth/hostedspf/memory"
	"github.com/emersion/go-msgauth/dkim"
)

// A stop of the tour is a call worth trying. One without a check examines all of a domain.
type stop struct {
	title  string
	check  string // path of the endpoint
	args   string // for the command line
	fields string // of the request, as JSON
	status int
	want   string // part of the reply
}

// tourText are the stops, of four lines each: what it shows, the check with its arguments, the fields, and the status
// with the observation. The story is before the line of equals signs.
//
//go:embed tour.txt
var tourText string

// The files named in the braces of tour.txt: an aggregate report of DMARC about plain.example, a mark certificate of
// example.com, a certificate signing request without subject alternative names, and a QR code of a Wi-Fi network.
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
func tour(at time.Time) []stop { return append(storyStops(), operationStops(at)...) }

// storyStops goes from a domain with every fault to one without any, and then through the faults of a company in the
// order of a support case: each stop explains a line of the screen before.
func storyStops() []stop {
	text, _, _ := strings.Cut(tourText, "====")
	return parseStops(text, strings.NewReplacer())
}

// operationStops are operations in order, each with an example of its findings.
func operationStops(at time.Time) []stop {
	_, text, _ := strings.Cut(tourText, "====")
	return parseStops(text, strings.NewReplacer(
		"{report}", strconv.Quote(report), "{mark}", strconv.Quote(markText), "{request}", strconv.Quote(signingText),
		"{code}", base64.StdEncoding.EncodeToString(codeImage), "{header}", forgedHeader,
		"{profile}", profileID, "{broken}", brokenProfileID,
		"{letter}", message{"mx1.good.example", "192.0.2.12", true}.base64(at),
		"{forgery}", message{"vps.rented.example", "203.0.113.77", false}.base64(at),
	))
}

func parseStops(text string, fill *strings.Replacer) (list []stop) {
	for block := range strings.SplitSeq(strings.TrimSpace(text), "\n\n") {
		lines := strings.Split(block, "\n")
		s := stop{title: lines[0], fields: fill.Replace(lines[2])}
		s.check, s.args, _ = strings.Cut(fill.Replace(lines[1]), " ")
		fmt.Sscan(lines[3], &s.status)
		_, s.want, _ = strings.Cut(lines[3], " ")
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

// request returns the request of a client: the fields are in the body, or in path and query.
func (s stop) request() (method, target, body string, err error) {
	ep, ok := httpapi.Endpoints().ByName(s.check)
	if !ok {
		return "", "", "", fmt.Errorf("unknown check %s", s.check)
	}
	target, sent, err := ep.Target([]byte(s.fields))
	return ep.Method, target, string(sent), err
}

const authorization = `-H "Authorization: Bearer $DIAG_KEY"`

// printStart prints for a visitor where to begin.
func (d *demo) printStart(w io.Writer) {
	fmt.Fprintf(w, `Open %[1]s/dashboard, where you are signed in as the owner of Harbour Coffee.
The worst of its domains: %[1]s/dashboard/domains/harbour.example
Change a record and see it noticed: curl -X POST %[1]s/change, then %[1]s/dashboard/domains/watch.example
Test a message: %[1]s/letterbox creates addresses, and %[2]s receives their mail.

  export DIAG_SERVER=%[1]s
  export DIAG_KEY=%[3]s
  go run ./cmd/diag harbour.example

Nothing leaves this machine, and nothing is stored. A call of each operation: go run ./examples/demo -tour
`, d.url, d.mail, d.secret)
}

// printTour prints what to try at each stop.
func printTour(w io.Writer, url string, stops []stop) error {
	for _, s := range stops {
		fmt.Fprintf(w, "\n# %s\n", s.title)
		if s.check == "" {
			fmt.Fprintf(w, "  go run ./cmd/diag %s --server %s\n", s.args, url)
			continue
		}
		method, target, body, err := s.request()
		if err != nil {
			return fmt.Errorf("%s: %w", s.title, err)
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

// messageKey signs the mail of good.example; its public key is in internet/internet.zone. It is not secret.
var messageKey = ed25519.NewKeyFromSeed(bytes.Repeat([]byte{1}, ed25519.SeedSize))

// A message is one as delivered to a mailbox at example.com.
type message struct {
	host, ip string // of the server that delivered it
	signed   bool
}

// base64 writes the letter as a request has it, sent a minute before the time.
func (l message) base64(now time.Time) string {
	at := now.Add(-time.Minute).UTC().Format(time.RFC1123Z)
	text := fmt.Sprintf("From: Good Shop <orders@good.example>\r\nTo: bob@example.com\r\nSubject: Your order\r\nDate: "+
		"%s\r\nMessage-ID: <1@%s>\r\nMIME-Version: 1.0\r\nContent-Type: text/plain\r\n\r\nIt is on its way.\r\n", at, l.host)
	if l.signed {
		text = sign(text)
	}
	text = fmt.Sprintf("Return-Path: <orders@good.example>\r\nReceived: from %s (%[1]s [%s])\r\n\tby mx1.example.com "+
		"(Postfix) with ESMTPS id 1\r\n\tfor <bob@example.com>; %s\r\n", l.host, l.ip, at) + text
	return base64.StdEncoding.EncodeToString([]byte(text))
}

func sign(text string) string {
	var b bytes.Buffer
	err := dkim.Sign(&b, strings.NewReader(text), &dkim.SignOptions{
		Domain: "good.example", Selector: "mail", Signer: messageKey,
		HeaderCanonicalization: dkim.CanonicalizationRelaxed, BodyCanonicalization: dkim.CanonicalizationRelaxed,
		HeaderKeys: []string{"From", "To", "Subject", "Date", "Message-ID", "MIME-Version", "Content-Type"},
	})
	if err != nil {
		return text // the tour, whose stops are tested, shows that it is not signed
	}
	return b.String()
}

// The hosted SPF profiles of the demonstration. The first has the id that the documentation shows.
const (
	profileID       = "spf_mn4zq2vtw6k7y3cx5hbd2jfgla"
	brokenProfileID = "spf_brokenbrokenbrokenbrokenbr"
)

// newProfiles makes two profiles that are due: one that can be resolved, and one that cannot.
func newProfiles(ctx context.Context, owner hostedspf.Owner) (hostedspf.Store, error) {
	store := memory.New(memory.Config{})
	now := time.Now().UTC().Truncate(time.Microsecond)
	for i, p := range []struct{ id, domain, record string }{
		{profileID, "example.com", "v=spf1 mx include:_spf.news.example include:_spf.shop.example -all"},
		{brokenProfileID, "good.example", "v=spf1 include:servfail.example -all"},
	} {
		err := store.Create(ctx, hostedspf.Profile{
			ID: p.id, Owner: owner, Domain: diag.MustDomain(p.domain), Name: p.domain, Status: hostedspf.Active,
			SourceRecord: p.record, IncludeHost: diag.MustName("_spf." + p.domain), IntervalSeconds: hostedspf.DefaultInterval,
			CreatedAt: now.Add(time.Duration(i) * time.Microsecond), UpdatedAt: now, NextResolveAt: now,
		})
		if err != nil {
			return nil, err
		}
	}
	return store, nil
}
