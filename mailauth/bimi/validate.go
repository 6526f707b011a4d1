package bimi

import (
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/mailauth/bimi/record"
	"github.com/diagkit/diagkit/mailauth/taglist"
)

// maxRecordLength bounds the text of a record, in bytes.
const maxRecordLength = 8192

// ValidateRequest asks what can be said of a record that need not be published.
type ValidateRequest struct {
	Record string `json:"record" minlen:"1" maxlen:"8192" doc:"text of the record, or as in a zone file: its strings in quotes, with or without name and type" example:"v=BIMI1; l=https://example.com/logo.svg; a=https://example.com/mark.pem"`
}

// ValidateReport says what a record means, and what to think of it. Whether logo and certificate can be fetched it does
// not say.
type ValidateReport struct {
	Record string `json:"record" doc:"the record that was examined"`
	diag.Verdict
	Fields
}

// Validate examines the text of a record alone, and asks nothing of the network. The error is a *[diag.InputError].
func Validate(req ValidateRequest) (*ValidateReport, error) {
	if strings.TrimSpace(req.Record) == "" {
		return nil, diag.Invalid("record", "is empty; give the text of the TXT record, such as v=BIMI1; l=https://…; a=;")
	}
	if len(req.Record) > maxRecordLength {
		return nil, diag.Invalid("record", "is longer than %d bytes", maxRecordLength)
	}
	e := &evidence{offline: true}
	e.take(record.Format.Read(req.Record))
	r := &ValidateReport{Verdict: rules().Judge(e, textsOffline), Fields: e.fields()}
	parts, _ := taglist.Pasted(req.Record)
	r.Record = printable(strings.Join(parts, ""))
	return r, nil
}

// Rules describes what is examined.
func (*ValidateReport) Rules() []diag.RuleInfo { return rules().Describe() }
