package spf

import (
	"context"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/input"
	"github.com/diagkit/diagkit/diag/rule"
	"github.com/diagkit/diagkit/mailauth/spf/eval"
)

// LookupRequest names the domain to examine, or the name of a record that others include, such as _spf.example.com:
// one of Domain and Name is given, and in JSON both are the field domain.
type LookupRequest struct {
	Domain diag.Domain `json:"-"`
	Name   diag.Name   `json:"domain" doc:"domain, or name of an included record; no wildcard" example:"example.com"`
	IP     diag.IP     `json:"ip,omitempty" doc:"address of a host; if given, what a receiver decides about it"`
	Sender string      `json:"sender,omitempty" maxlen:"320" doc:"MAIL FROM, for ip and macros; by default postmaster"`
	HELO   diag.Domain `json:"helo,omitempty" doc:"HELO name, for ip and macros; by default the domain"`
}

// LookupReport holds the record of a domain and the tree of its includes, with a verdict.
type LookupReport struct {
	diag.RecordLookup
	diag.Verdict
	Valid        bool           `json:"valid" doc:"whether nothing is worse than a warning"`
	RecordsCount int            `json:"spf_records_count" min:"0" doc:"number of SPF records; there must be one"`
	Version      string         `json:"version" doc:"version of the record, empty without one" example:"spf1"`
	Terms        []TermReport   `json:"terms" doc:"terms of the record, in order"`
	AllQualifier eval.Qualifier `json:"all_qualifier,omitempty" doc:"sign of all: what is said of all other hosts"`
	Redirect     string         `json:"redirect,omitempty" doc:"domain to whose record the record hands over"`
	Exp          string         `json:"exp,omitempty" doc:"name of the explanation of a fail"`
	DNSLookups   Count          `json:"dns_lookups" doc:"DNS lookups of all records, as receivers count them"`
	VoidLookups  Count          `json:"void_lookups" doc:"lookups of all records that find nothing"`
	Tree         *NodeReport    `json:"tree" doc:"the records that the record leads to"`
	Authorized   Authorized     `json:"authorized" doc:"hosts that pass, as far as that does not depend on the mail"`
	LengthBytes  int            `json:"length_bytes" min:"0" doc:"length of the record"`
	Providers    []Provider     `json:"providers" doc:"known services that are included"`
	IPTest       IPTest         `json:"ip_test,omitzero" doc:"what a receiver decides about the address"`
	Partial      bool           `json:"partial" doc:"whether something could not be learned"`

	passes Audience // see Passes
	broken bool     // see Broken
}

// Rules describes the checks.
func (*LookupReport) Rules() []rule.Description { return rules().Describe() }

// Lookup examines the record of a domain and its tree. The error is a *[diag.InputError], that of the context if it
// ended, or wraps [diag.ErrUnavailable] if every lookup failed.
func Lookup(ctx context.Context, env *diag.Env, req LookupRequest) (*LookupReport, error) {
	if req.Name.IsZero() && !req.Domain.IsZero() {
		req.Name = req.Domain.Name()
	}
	if req.Name.IsZero() {
		return nil, input.Invalid("domain", "is missing")
	}
	if err := checkName(req.Name); err != nil {
		return nil, err
	}
	if err := checkSender(req.Sender); err != nil {
		return nil, err
	}
	e := &evidence{domain: req.Name, now: env.Now(), ip: req.IP.Addr}
	if err := e.gather(ctx, env, req.Sender, req.HELO.String()); err != nil {
		return nil, err
	}
	e.suggest()
	voids := len(e.tree.voids(void))
	r := &LookupReport{
		RecordLookup: diag.NewRecordLookup(e.domain, *e.published.answer, e.records, e.now, env.Now()),
		Verdict:      rules().Judge(e, e.texts()), RecordsCount: len(e.records), Terms: e.termReports(),
		AllQualifier: e.allQualifier(), Redirect: e.valueOf(eval.Redirect), Exp: e.valueOf(eval.Exp),
		DNSLookups:  e.lookupCount(),
		VoidLookups: Count{voids, eval.MaxVoids, voids > eval.MaxVoids, false},
		Tree:        e.nodeReport(e.tree.Root), Authorized: e.authorizedReport(),
		Providers: e.tree.providers(), IPTest: e.ipTest(),
		Partial: e.partial(),
	}
	r.Valid = e.isValid(r.Verdict)
	r.passes, r.broken = e.audience()
	if len(e.records) > 0 {
		r.Version = "spf1"
	}
	if len(e.records) == 1 {
		r.LengthBytes = len(e.records[0])
	}
	return r, nil
}

// ValidateRequest holds the text of a record, which need not be published.
type ValidateRequest struct {
	Record string    `json:"record" minlen:"1" maxlen:"8192" doc:"text of the record, its character-strings in quotes as in a zone file, or a whole line of one" example:"v=spf1 ip4:192.0.2.0/24 include:_spf.example.net -all"`
	Domain diag.Name `json:"domain,omitempty" doc:"domain of the record, or name of an included one"`
	IP     diag.IP   `json:"ip,omitempty" doc:"address of a host; if given, what the record says of it"`
}

// ValidateReport holds the meaning of a record, as far as its text determines it.
type ValidateReport struct {
	Record string `json:"record" doc:"the record, without quotes"`
	diag.Verdict
	Valid        bool           `json:"valid" doc:"whether nothing is worse than a warning, as far as the text tells"`
	Terms        []TermReport   `json:"terms" doc:"terms of the record, in order"`
	AllQualifier eval.Qualifier `json:"all_qualifier,omitempty" doc:"sign of all: what is said of all other hosts"`
	Redirect     string         `json:"redirect,omitempty" doc:"domain to whose record the record hands over"`
	Exp          string         `json:"exp,omitempty" doc:"name of the explanation of a fail"`
	DNSLookups   Count          `json:"dns_lookups" doc:"DNS lookups of the terms of this record"`
	LengthBytes  int            `json:"length_bytes" min:"0" doc:"length of the record"`
	StringsCount int            `json:"strings_count" min:"0" doc:"character-strings that it has in quotes, or needs"`
	IPTest       IPTest         `json:"ip_test,omitzero" doc:"what the record says of the address"`
}

// Rules describes the checks.
func (*ValidateReport) Rules() []rule.Description { return rules().Describe() }

// Validate examines the text of a record alone, without DNS queries: the contribution of other records and hosts is
// unknown, and the report says so. The error is a *[diag.InputError].
func Validate(req ValidateRequest) (*ValidateReport, error) {
	if req.Record == "" {
		return nil, input.Invalid("record", "is missing")
	}
	if len(req.Record) > eval.MaxRecordLength {
		return nil, input.Invalid("record", "is longer than %d bytes", eval.MaxRecordLength)
	}
	if err := checkName(req.Domain); err != nil {
		return nil, err
	}
	if strings.Join(pasted(req.Record), "") == "" {
		return nil, input.Invalid("record", "is empty")
	}
	e := newOffline(req.Record, req.Domain, req.IP.Addr)
	e.suggest()
	text := e.tree.Root.Record
	r := &ValidateReport{
		Record: clean(text), Verdict: rules().Judge(e, e.texts()), Terms: e.termReports(), AllQualifier: e.allQualifier(),
		Redirect: e.valueOf(eval.Redirect), Exp: e.valueOf(eval.Exp), DNSLookups: e.lookupCount(), LengthBytes: len(text),
		StringsCount: len(e.strings), IPTest: e.ipTest(),
	}
	r.Valid = e.isValid(r.Verdict)
	return r, nil
}

func checkName(n diag.Name) error {
	switch {
	case n.String() == ".":
		return input.Invalid("domain", "is the root, which has no SPF record")
	case strings.HasPrefix(n.String(), "*"):
		return input.Invalid("domain", "is a wildcard; ask for a name that it covers")
	default:
		return nil
	}
}

// maxSender bounds a sender, in bytes: an SMTP path has 256 at most (RFC 5321 section 4.5.3.1.3).
const maxSender = 320

func checkSender(s string) error {
	if len(s) > maxSender {
		return input.Invalid("sender", "is longer than %d bytes", maxSender)
	}
	if i := strings.IndexFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f }); i >= 0 {
		return input.Invalid("sender", "has a control character at byte %d", i)
	}
	if strings.HasSuffix(s, "@") {
		return input.Invalid("sender", "has no domain")
	}
	return nil
}
