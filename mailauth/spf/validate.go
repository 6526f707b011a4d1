package spf

import (
	"strings"

	"github.com/diagkit/diagkit/diag"
)

// ValidateRequest asks what can be said of a record that need not be published.
type ValidateRequest struct {
	Record string    `json:"record" minlen:"1" maxlen:"8192" doc:"text of the record, or its character-strings in quotes as in a zone file" example:"v=spf1 ip4:192.0.2.0/24 include:_spf.example.net -all"`
	Domain diag.Name `json:"domain,omitempty" doc:"domain of the record, or name of an included one"`
	IP     diag.IP   `json:"ip,omitempty" doc:"address of a host; if given, what the record says of it"`
}

// ValidateReport says what a record means, as far as its text tells.
type ValidateReport struct {
	Record string `json:"record" doc:"the record, without quotes"`
	diag.Verdict
	Valid        bool         `json:"valid" doc:"whether nothing is worse than a warning, as far as the text tells"`
	Terms        []TermReport `json:"terms" doc:"terms of the record, in order"`
	AllQualifier Qualifier    `json:"all_qualifier,omitempty" doc:"sign of all: what is said of all other hosts"`
	Redirect     string       `json:"redirect,omitempty" doc:"domain to whose record the record hands over"`
	Exp          string       `json:"exp,omitempty" doc:"name of the explanation of a fail"`
	DNSLookups   Count        `json:"dns_lookups" doc:"DNS lookups of the terms of this record"`
	LengthBytes  int          `json:"length_bytes" min:"0" doc:"length of the record"`
	StringsCount int          `json:"strings_count" min:"0" doc:"character-strings that it has in quotes, or needs"`
	IPTest       *IPTest      `json:"ip_test,omitempty" doc:"what the record says of the address"`
}

// Validate examines the text of a record alone, and asks nothing of the DNS: what other records and hosts
// would add is not known, and the report says so. The error is a *[diag.InputError].
func Validate(req ValidateRequest) (*ValidateReport, error) {
	if req.Record == "" {
		return nil, diag.Invalid("record", "is missing")
	}
	if len(req.Record) > MaxRecordLength {
		return nil, diag.Invalid("record", "is longer than %d bytes", MaxRecordLength)
	}
	if err := checkName(req.Domain); err != nil {
		return nil, err
	}
	e := outline(req)
	e.suggested = e.suggest()
	text := e.tree.Root.Record
	r := &ValidateReport{
		Record: strings.ToValidUTF8(text, "\uFFFD"), Verdict: rules().Judge(e, textsAlone), Terms: e.terms(),
		DNSLookups: e.lookupCount(), LengthBytes: len(text), StringsCount: len(e.strings), IPTest: e.ipTest(),
	}
	r.Valid = e.valid(r.Verdict)
	r.AllQualifier, r.Redirect, r.Exp = e.summary()
	return r, nil
}

// Rules describes what is examined.
func (*ValidateReport) Rules() []diag.RuleInfo { return rules().Describe() }

// outline makes evidence of a text alone.
func outline(req ValidateRequest) *evidence {
	e := &evidence{domain: req.Domain, offline: true, ip: req.IP.Addr}
	e.strings = diag.SplitTXT(req.Record)
	text := strings.Join(e.strings, "")
	if e.published = new(publication); isRecord(text) {
		e.records = []string{text}
	} else {
		e.strays = []string{text}
	}
	e.tree = walk(nil, req.Domain.String(), text) // nothing is looked up
	if !req.IP.IsZero() && len(e.records) == 1 {
		e.result = e.decide(req)
	}
	e.compute()
	return e
}

// decide finds out what the record alone says of the address.
func (e *evidence) decide(req ValidateRequest) *Result {
	if f := e.tree.Root.Faults; len(f) > 0 {
		return &Result{Outcome: Permerror, Reason: f[0].Text}
	}
	run := newEvaluation(nil, CheckRequest{IP: req.IP.Addr, Domain: req.Domain.String()}, e.now)
	v := run.terms(e.tree.Root.Parsed, req.Domain.String(), false)
	return &Result{Outcome: v.outcome, MatchedTerm: v.term, MatchedDomain: v.domain, Reason: v.reason}
}
