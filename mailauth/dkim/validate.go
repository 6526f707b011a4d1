package dkim

import (
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/mailauth/taglist"
)

// maxRecordLength bounds the text of a record, in bytes: an RSA key of 16,384 bits takes 2,800.
const maxRecordLength = 8192

// ValidateRequest asks what can be said of a record that need not be published.
type ValidateRequest struct {
	Record string `json:"record" minlen:"1" maxlen:"8192" doc:"text of the record, or as in a zone file: its strings in quotes, with or without name and type" example:"v=DKIM1; k=ed25519; p=2J0Vi6Qu3EijgpBSbvrkSF0zb6qpRkEg8oBG9Nu6RXU="`
}

// ValidateReport says what a record means, and what to think of it.
type ValidateReport struct {
	Record string `json:"record" doc:"the record that was examined"`
	diag.Verdict
	KeyFields
}

// Validate examines the text of a record alone, and asks nothing of the DNS. The error is a *[diag.InputError].
func Validate(req ValidateRequest) (*ValidateReport, error) {
	if strings.TrimSpace(req.Record) == "" {
		return nil, diag.Invalid("record", "is empty; give the text of the TXT record, such as v=DKIM1; k=rsa; p=…")
	}
	if len(req.Record) > maxRecordLength {
		return nil, diag.Invalid("record", "is longer than %d bytes", maxRecordLength)
	}
	e := &evidence{}
	parts, line := diag.PastedTXT(req.Record)
	literal, _ := taglist.Pasted(req.Record)
	e.quoted = literal[0] != parts[0]
	e.take([][]string{parts})
	e.found.Line = line
	v := rules.Judge(e, textsOffline)
	return &ValidateReport{Record: clean(e.found.Records[0]), Verdict: v, KeyFields: e.fields(v)}, nil
}
