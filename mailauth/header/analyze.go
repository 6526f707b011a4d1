package header

import (
	"bytes"
	"context"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/mailauth/message"
)

// maxMessageBytes bounds the messages that are analyzed, as sent (CONTRACT 1.9).
const maxMessageBytes = 5 << 20

// maxTrusted bounds the servers that a request trusts.
const maxTrusted = 10

// AnalyzeRequest asks whether a message is authentic. Exactly one of Headers, Message and MessageBase64 is given.
type AnalyzeRequest struct {
	Headers       string `json:"headers,omitempty" oneof:"message" minlen:"1" maxbytes:"262144" doc:"raw header, as the mail program shows it; what follows the first blank line is ignored" example:"Received: from mail.example.org (mail.example.org [192.0.2.25])\n\tby mx.example.com (Postfix) with ESMTPS id 4XcQ1Z0abc\n\tfor <bob@example.com>; Sun, 01 Nov 2026 09:00:04 +0000 (UTC)\nFrom: Alice Example <alice@example.org>\nTo: Bob Example <bob@example.com>\nSubject: Offer 2026-114\nDate: Sun, 01 Nov 2026 09:00:00 +0000\nMessage-ID: <20261101090000.4711@mail.example.org>\n"`
	Message       string `json:"message,omitempty" oneof:"message" minlen:"1" maxbytes:"5242880" doc:"whole message as it was received, so that DKIM can be verified"`
	MessageBase64 []byte `json:"message_base64,omitempty" oneof:"message" minlen:"1" maxlen:"5242880" doc:"the same in base64, so that no byte of it is changed on the way here"`
	// TrustedAuthservIDs are the receiver's own servers and filters. Empty means that they are found by the header.
	TrustedAuthservIDs []string `json:"trusted_authserv_ids,omitempty" maxitems:"10" maxlen:"255" doc:"names of the receiver's own servers and filters, as in Authentication-Results; their organizational domains are taken to be the receiver's" example:"mx.example.com"`
	// Live says whether the DNS is asked. Nil means true.
	Live *bool `json:"live,omitempty" default:"true" doc:"whether to look up SPF, DKIM, DMARC, ARC and PTR now"`
}

// The memory of an analysis, in bytes: for lookups and report; for each byte of the header, which is split three times
// and may be nothing but empty fields; for each byte of the message with its copies.
const (
	analyzeFixed  = 1 << 20
	headerFactor  = 80
	messageFactor = 4
)

// Memory is what the analysis may hold at worst, in bytes.
func (req *AnalyzeRequest) Memory() int64 {
	n := len(req.Headers) + len(req.Message) + len(req.MessageBase64)
	return analyzeFixed + headerFactor*int64(min(n, message.MaxHeaderBytes)) + messageFactor*int64(n)
}

// An AnalyzeReport says whether a message is authentic, and why.
type AnalyzeReport struct {
	Conclusion Conclusion `json:"conclusion" doc:"whether the message is authentic"`
	Live       Live       `json:"live" doc:"what the DNS says now"`
	Facts
	diag.Verdict
	Anomalies []diag.Finding `json:"anomalies" doc:"those of the findings that suggest deception or damage"`
}

// Rules describes what is examined.
func (*AnalyzeReport) Rules() []diag.RuleInfo { return analyzeRules().Describe() }

// analysis is a header read in full, and what the DNS says about it.
type analysis struct {
	*evidence
	input *liveInput
	live  *liveEvidence // nil if the DNS was not asked
}

// Analyze examines a message as [Audit] does its header, asks the DNS what it can say about it now, and concludes
// whether the message comes from the domain in its From field. All questions are asked at once: a message whose SPF
// records need no further ones takes two round trips.
//
// The error is a *[diag.InputError], or that of the context. That name servers do not answer is no error: then less
// is known.
func Analyze(ctx context.Context, env *diag.Env, req AnalyzeRequest) (*AnalyzeReport, error) {
	text, headerOnly, err := req.text()
	if err != nil {
		return nil, err
	}
	a := newAnalysis(text, headerOnly, env, req.TrustedAuthservIDs)
	if req.Live == nil || *req.Live {
		if a.live, err = gatherLive(ctx, env, a.input); err != nil {
			return nil, err
		}
	}
	a.settle()
	words := analyzeTexts
	if a.live == nil {
		words = auditTexts
	}
	v := analyzeRules().Judge(a, words)
	r := &AnalyzeReport{
		Facts: a.facts(), Verdict: v, Anomalies: deceptions(v.Findings), Live: a.report(), Conclusion: a.conclude(v.Findings),
	}
	a.align(&r.Alignment)
	return r, nil
}

// text returns what is to be analyzed, and whether it is a header alone.
func (req *AnalyzeRequest) text() (text []byte, headerOnly bool, err error) {
	err = diag.ExactlyOne([]string{"headers", "message", "message_base64"}, req.Headers != "", req.Message != "",
		len(req.MessageBase64) > 0)
	switch {
	case err != nil:
		return nil, false, err
	case len(req.Headers) > message.MaxHeaderBytes:
		return nil, false, diag.Invalid("headers", "is longer than %d bytes", message.MaxHeaderBytes)
	case len(req.Message) > maxMessageBytes:
		return nil, false, diag.Invalid("message", "is longer than %d bytes", maxMessageBytes)
	case len(req.MessageBase64) > maxMessageBytes:
		return nil, false, diag.Invalid("message_base64", "is longer than %d bytes", maxMessageBytes)
	case len(req.TrustedAuthservIDs) > maxTrusted:
		return nil, false, diag.Invalid("trusted_authserv_ids", "has more than %d items", maxTrusted)
	case req.Headers != "":
		return []byte(req.Headers), true, nil
	case req.Message != "":
		return []byte(req.Message), false, nil
	default:
		return req.MessageBase64, false, nil
	}
}

// newAnalysis reads a message. Only a header that was pasted may have been damaged by that.
func newAnalysis(text []byte, headerOnly bool, env *diag.Env, trusted []string) *analysis {
	a := &analysis{}
	if headerOnly {
		a.evidence = readPasted(text, env.Now())
		text, _ = message.Repair(text)
	} else {
		a.evidence = readMessage(message.Split(text), env.Now())
	}
	for _, id := range trusted {
		if id = string(bytes.ToLower(bytes.Trim([]byte(id), ". "))); id != "" {
			a.trusted = append(a.trusted, id)
		}
	}
	a.input = newLiveInput(text, headerOnly, a.evidence)
	return a
}

// settle makes the facts agree with what was found about the outside hop.
func (a *analysis) settle() {
	switch {
	case a.live == nil:
	case a.live.hop != nil:
		a.border = a.live.hop.index
	default:
		a.border = -1
	}
}
