package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/httpapi"
	"github.com/spf13/cobra"
)

// usageError is a fault of the command line.
type usageError struct{ error }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

func newUsageError(text string) error { return usageError{errors.New(text)} }

// isUsageError reports whether the request is wrong, rather than an answer missing.
func isUsageError(err error) bool {
	_, usage := errors.AsType[usageError](err)
	_, violations := errors.AsType[*httpapi.ViolationsError](err)
	_, input := errors.AsType[inputError](err)
	return usage || violations || input
}

// width returns how many columns a line has.
func (a *app) width() int {
	if a.columns > 0 {
		return max(40, min(a.columns, maxWidth))
	}
	return maxWidth
}

// exactArgs refuses any other number of arguments.
func exactArgs(number int, what string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) != number {
			return usagef("%s", what)
		}
		return nil
	}
}

// errorLines describes an error: each fault of a request in a line of its own. The end of a context is described by its
// meaning.
func errorLines(err error) []string {
	if v, ok := errors.AsType[*httpapi.ViolationsError](err); ok {
		lines := []string{}
		for _, fault := range v.Violations {
			lines = append(lines, strings.TrimPrefix(fault.Field+": "+fault.Message, ": "))
		}
		return lines
	}
	silent, known := errors.AsType[*diag.UnavailableError](err)
	switch {
	case known && errors.Is(err, context.DeadlineExceeded):
		return []string{"timeout waiting for " + silent.Asked + ""}
	case known && !errors.Is(err, context.Canceled):
		return []string{"no usable answer from " + silent.Asked}
	case errors.Is(err, context.DeadlineExceeded):
		return []string{"timeout before the check was complete"}
	case errors.Is(err, context.Canceled):
		return []string{"interrupted"}
	}
	return []string{err.Error()}
}

// printUsage shows what to type, in eleven lines.
func (a *app) printUsage() error {
	_, err := io.WriteString(
		a.stdout,
		`diag DOMAIN                     everything about a domain: mail, DNS, web, registration, block lists
diag ADDRESS                    name, holder and block lists of an IP address
diag URL                        redirects, headers and certificate of a page
diag FILE                       a message, DMARC or TLS report, certificate, signing request or QR code
diag 'v=spf1 mx -all'           a record before it is published (SPF, DMARC, DKIM, BIMI …)
diag spf example.com            one check: spf, dkim, dmarc, mx, ssl, headers, whois, ptr … (diag --help lists all)
diag MX example.com @9.9.9.9    a DNS query with the syntax of dig; --short prints only the answer
diag example.com --plan         what to change, in order, and the result of each step (--format zone, nsupdate, json)
diag example.com --zone FILE    preview a zone file before you publish it
diag -f domains.txt --jsonl     a list; diag diff, wait, explain: compare runs, wait for a record, explain a finding
--json --md --html --junit      for programs, tickets, colleagues and CI; exit code 1: there are errors
`,
	)
	return err
}
