package header

import (
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/mailauth/dkim"
	"github.com/diagkit/diagkit/mailauth/header/route"
	"github.com/diagkit/diagkit/mailauth/provider"
)

// The bounds of signatures. Verifiers stop much earlier (RFC 6376 section 6.1).
const (
	maxSignatures    = 100
	maxSignedHeaders = 100 // names of h= that are reported
)

func (e *evidence) readSignatures() {
	fields := e.msg.All(string(dkim.DKIMSignature))
	for _, f := range fields[:min(len(fields), maxSignatures)] {
		p := dkim.ParseSignature(dkim.DKIMSignature, string(f.RawValue()))
		text := func(tag string) string {
			t, _ := p.List.Tag(tag)
			return clip(strings.Join(strings.Fields(t.Value), ""))
		}
		s := signature{field: f, parsed: p, Signature: Signature{
			Domain: p.Domain.String(), Selector: clip(p.Selector), Algorithm: clip(p.Algorithm),
			Canonicalization: clip(string(p.Header) + "/" + string(p.Body)), Identity: text("i"),
			SignedHeaders: clipped(p.Names, maxSignedHeaders),
			Timestamp:     diag.OrZero(p.Time), ExpiresAt: diag.OrZero(p.Expires), BodyLength: p.Length,
		}}
		if p.Domain.IsZero() {
			s.Domain = strings.ToLower(text("d"))
		}
		s.Service = serviceName(provider.ByDKIM(s.Domain))
		if e.fromDomain != "" {
			s.Aligned = new(route.SameOrganization(s.Domain, e.fromDomain))
		}
		e.signatures = append(e.signatures, s)
	}
}

func clipped(texts []string, most int) []string {
	list := []string{}
	for _, t := range texts[:min(len(texts), most)] {
		list = append(list, clip(t))
	}
	return list
}

// serviceName is the name of a sending service; empty if it is not known.
func serviceName(s *provider.Service) string {
	if s == nil {
		return ""
	}
	return s.Name
}
