package header

import (
	"cmp"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/mailauth/arc"
	"github.com/diagkit/diagkit/mailauth/header/route"
	"github.com/diagkit/diagkit/mailauth/message"
	"github.com/diagkit/diagkit/mailauth/provider"
)

func (e *evidence) facts() Facts {
	f := Facts{
		Message: e.summary(), Authentication: e.authentication(), DKIMSignatures: []Signature{}, ARC: arcReport(e.chain),
		Alignment: Alignment{FromDomain: e.fromDomain, OrganizationalDomain: e.fromOrg},
		Hops:      []Hop{}, SpamVerdicts: []SpamVerdict{}, List: e.list, HeadersCount: len(e.msg.Fields),
		DuplicateHeaders: e.duplicates(), MissingHeaders: e.missing(), MalformedLines: []BadLine{}, Damage: append([]Damage{}, e.damage...),
	}
	for _, s := range e.signatures {
		f.DKIMSignatures = append(f.DKIMSignatures, s.Signature)
	}
	for _, v := range e.spam {
		f.SpamVerdicts = append(f.SpamVerdicts, SpamVerdict(v))
	}
	if aligned, known := e.aligned("spf"); known {
		f.Alignment.SPFAligned = &aligned
	}
	if aligned, known := e.aligned("dkim"); known {
		f.Alignment.DKIMAligned = &aligned
	}
	for i := range e.path.Hops {
		f.Hops = append(f.Hops, e.hopReport(&e.path.Hops[i]))
	}
	if d, known := e.path.TotalDelay(); known {
		f.TotalDelay = new(int64(d.Seconds()))
	}
	lines := e.badLines()
	for _, l := range lines[:min(len(lines), maxBadLines)] {
		f.MalformedLines = append(f.MalformedLines, BadLine{l.Line, clip(message.Unfold(l.Raw))})
	}
	return f
}

func (e *evidence) summary() Summary {
	s := Summary{
		From: shown(e.from), To: shown(e.to), ReplyTo: shown(e.replyTo), Subject: e.text("Subject", maxSubject),
		Mailer: cmp.Or(e.text("X-Mailer", maxShown), e.text("User-Agent", maxShown)),
	}
	if len(e.sender) > 0 {
		s.Sender = shown(e.sender[:1])[0]
	}
	if e.returnPath != nil {
		s.ReturnPath = new(clip(message.DecodeText(e.returnPath.Addr())))
	}
	if e.dated && e.date.Time.Year() < 10000 {
		s.Date = e.date.Time.UTC()
	}
	if ids := message.MessageIDs(e.msg.Value("Message-ID")); len(ids) > 0 {
		s.MessageID = clip(ids[0])
	}
	return s
}

func (e *evidence) authentication() Authentication {
	list := func(method string) []AuthResult {
		results := []AuthResult{}
		add := func(a *authField, found ...result) {
			for _, r := range found[:min(len(found), maxResults-len(results))] {
				results = append(results, e.authResult(a, r))
			}
		}
		for i := range e.authFields {
			if a := &e.authFields[i]; a.header != nil {
				add(a, a.of(method)...)
			}
		}
		for i := range e.authFields {
			if a := &e.authFields[i]; a.spf != nil && method == "spf" {
				add(a, spfResult(a.spf))
			}
		}
		return results
	}
	return Authentication{SPF: list("spf"), DKIM: list("dkim"), DMARC: list("dmarc"), BIMI: list("bimi"), ARC: list("arc")}
}

func (e *evidence) authResult(a *authField, r result) AuthResult {
	result := AuthResult{
		Result: clip(r.Value), Domain: clip(r.Domain()), Selector: clip(r.Property("header.s", "header.selector")),
		Reason: clip(cmp.Or(r.Reason, strings.Join(r.Comments, "; "))), AuthservID: clip(a.id), Credible: e.counts(a),
		Field: clip(a.field.Name), Raw: diag.Clip(cmp.Or(r.Raw, a.field.Value()), maxRaw),
	}
	if r.Method == "dmarc" {
		told := r.Property("policy.dmarc", "policy.published-domain-policy")
		result.Policy = strings.ToLower(clip(cmp.Or(r.Note("p"), r.Note("policy"), told)))
	}
	if trusted, known := e.trusts(a.id); known {
		result.Trusted = &trusted
	}
	return result
}

func (e *evidence) hopReport(h *route.Hop) Hop {
	r := Hop{
		Index: h.Index, From: clip(h.From), HELO: clip(h.HELO), RDNS: clip(h.RDNS), By: clip(h.By), Via: clip(h.Via),
		With: clip(h.With), ID: clip(h.ID), For: clip(h.For), TLS: h.TLS, TLSVersion: clip(h.TLSVersion),
		TLSCipher: clip(h.TLSCipher), Border: h.Index == e.path.Border, Timestamp: h.Time.UTC(),
		IP: h.IP, PrivateIP: route.Private(h.IP), Raw: diag.Clip(h.Field.Value(), maxRaw),
	}
	if h.RDNS != "" {
		r.Service = serviceName(provider.ByPTR(h.RDNS))
	}
	if h.Timed {
		r.Delay = new(int64(h.Delay.Seconds()))
	}
	return r
}

func arcReport(c *arc.Chain) ARC {
	a := ARC{Instances: c.Instances, Seals: []Seal{}, OrderValid: c.OrderValid}
	for _, s := range c.Sets {
		var results []string
		if s.Authentication != nil {
			for _, r := range s.Authentication.Results[:min(len(s.Authentication.Results), maxResults)] {
				results = append(results, r.Method+"="+r.Value)
			}
		}
		a.Seals = append(a.Seals, Seal{
			Instance: s.Instance, Domain: clip(s.Domain), Selector: clip(s.Selector), CV: clip(string(s.State)), Timestamp: s.SealedAt,
			Complete: s.Seal != nil && s.Message != nil && s.Authentication != nil, Results: clipped(results, maxResults),
		})
	}
	return a
}
