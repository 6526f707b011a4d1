package main

import (
	"encoding/xml"
	"fmt"
	"slices"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/view"
)

// The elements of JUnit's report that CI servers read: a suite for each target, a case for each rule.
type (
	junitSuites struct {
		XMLName xml.Name     `xml:"testsuites"`
		Suites  []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name     string      `xml:"name,attr"`
		Tests    int         `xml:"tests,attr"`
		Failures int         `xml:"failures,attr"`
		Errors   int         `xml:"errors,attr"`
		Cases    []junitCase `xml:"testcase"`
	}
	junitCase struct {
		Name    string        `xml:"name,attr"`
		Class   string        `xml:"classname,attr"`
		Failure *junitMessage `xml:"failure,omitempty"`
		Error   *junitMessage `xml:"error,omitempty"`
	}
	junitMessage struct {
		Message string `xml:"message,attr"`
		Type    string `xml:"type,attr"`
		Text    string `xml:",chardata"`
	}
)

// junitSuiteOf is a view as a suite: what is at or above the threshold fails, and what could not be learned is an
// error.
func junitSuiteOf(subject string, v *view.View, err error, threshold diag.Severity) junitSuite {
	s := junitSuite{Name: subject}
	missing := func(what, kind, text string) {
		s.Errors++
		s.Cases = append(s.Cases, junitCase{Name: what, Class: subject, Error: &junitMessage{Message: text, Type: kind}})
	}
	if err != nil {
		v = &view.View{}
		missing("answer", "unavailable", err.Error())
	}
	for _, f := range slices.Concat(v.Findings, v.Better) {
		c := junitCase{Name: string(f.Code), Class: subject}
		if f.Severity >= threshold {
			c.Failure = &junitMessage{f.Title, f.Severity.String(), f.Detail + "\n" + f.Advice}
			s.Failures++
		}
		s.Cases = append(s.Cases, c)
	}
	if v.Partial {
		missing("complete", "partial", "not everything answered")
	}
	for _, c := range v.Passed {
		s.Cases = append(s.Cases, junitCase{Name: string(c.Code), Class: subject})
	}
	s.Tests = len(s.Cases)
	return s
}

func junit(suites ...junitSuite) ([]byte, error) {
	text, err := xml.MarshalIndent(junitSuites{Suites: suites}, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("writing JUnit's report: %w", err)
	}
	return append(append([]byte(xml.Header), text...), '\n'), nil
}
