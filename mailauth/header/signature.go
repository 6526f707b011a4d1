package header

import (
	"slices"
	"strings"

	"github.com/diagkit/diagkit/mailauth/arc"
	"github.com/diagkit/diagkit/mailauth/authres"
	"github.com/diagkit/diagkit/mailauth/dkim"
	"github.com/diagkit/diagkit/mailauth/message"
	"github.com/diagkit/diagkit/mailauth/provider"
)

// The bounds of signatures. Verifiers stop much earlier (RFC 6376 section 6.1).
const (
	maxSignatures    = 100
	maxSignedHeaders = 100 // names of h= that are reported
)

// A signature is a field DKIM-Signature.
type signature struct {
	Signature
	field  *message.Field
	parsed *dkim.Signature
}

// signs reports whether a field of this name is signed.
func (s *signature) signs(name string) bool {
	return slices.ContainsFunc(s.parsed.Names, func(h string) bool { return strings.EqualFold(h, name) })
}

// readSignatures reads the fields DKIM-Signature.
func (e *evidence) readSignatures() {
	for _, f := range e.msg.All(string(dkim.DKIMSignature)) {
		if len(e.signatures) == maxSignatures {
			break
		}
		p := dkim.ParseSignature(dkim.DKIMSignature, string(f.RawValue()))
		text := func(tag string) string {
			t, _ := p.List.Tag(tag)
			return clip(strings.Join(strings.Fields(t.Value), ""), maxShown)
		}
		s := signature{field: f, parsed: p, Signature: Signature{
			Domain: p.Domain.String(), Selector: clip(p.Selector, maxShown), Algorithm: clip(p.Algorithm, maxShown),
			Canonicalization: clip(string(p.Header)+"/"+string(p.Body),
				maxShown), Identity: text("i"), SignedHeaders: []string{},
			Timestamp: p.Time, ExpiresAt: p.Expires, BodyLength: p.Length,
		}}
		if p.Domain.IsZero() {
			s.Domain = strings.ToLower(text("d"))
		}
		s.Service = serviceName(provider.ByDKIM(s.Domain))
		for _, name := range p.Names[:min(len(p.Names), maxSignedHeaders)] {
			s.SignedHeaders = append(s.SignedHeaders, clip(name, maxShown))
		}
		if e.fromDomain != "" {
			s.Aligned = new(sameOrganization(s.Domain, e.fromDomain))
		}
		e.signatures = append(e.signatures, s)
	}
}

// serviceName is the name of a sending service; empty if it is not known.
func serviceName(s *provider.Service) string {
	if s == nil {
		return ""
	}
	return s.Name
}

// sealed returns what the first sealer of ARC found, or nil.
func (e *evidence) sealed() *authres.Header {
	if len(e.chain.Sets) == 0 {
		return nil
	}
	return e.chain.Sets[0].Authentication
}

// arcReport writes down the chain.
func arcReport(c *arc.Chain) ARC {
	a := ARC{Instances: c.Instances, Seals: []Seal{}, OrderValid: c.OrderValid}
	for i := range c.Sets {
		s := &c.Sets[i]
		seal := Seal{
			Instance: s.Instance, Domain: clip(s.Domain, maxShown), Selector: clip(s.Selector,
				maxShown), CV: clip(string(s.State), maxShown),
			Timestamp: s.SealedAt, Complete: s.Seal != nil && s.Message != nil && s.Authentication != nil, Results: []string{},
		}
		if s.Authentication != nil {
			for _, r := range s.Authentication.Results {
				if len(seal.Results) < maxResults {
					seal.Results = append(seal.Results, clip(r.Method+"="+r.Value, maxShown))
				}
			}
		}
		a.Seals = append(a.Seals, seal)
	}
	return a
}
