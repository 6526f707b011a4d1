package header

import (
	"strings"
	"unicode/utf8"

	"github.com/diagkit/diagkit/mailauth/authres"
	"github.com/diagkit/diagkit/mailauth/message"
	"github.com/diagkit/diagkit/mailauth/provider"
)

// The bounds of what a report repeats from a header.
const (
	maxRaw      = 2000 // bytes of one field
	maxShown    = 200  // bytes of a name or a value in it
	maxListed   = 50   // items of a list
	maxResults  = 50   // results of one method
	maxSubject  = 1000 // bytes of the subject
	maxBadLines = 50
)

// clip makes a text of strangers valid UTF-8 and bounds it, in bytes.
func clip(s string, most int) string {
	if len(s) > most {
		s = s[:most]
		for len(s) > 0 && !utf8.RuneStart(s[len(s)-1]) {
			s = s[:len(s)-1]
		}
		if len(s) > 0 && s[len(s)-1] >= utf8.RuneSelf {
			s = s[:len(s)-1]
		}
		s += "…"
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}

// facts writes down what was read.
func (e *evidence) facts() Facts {
	f := Facts{
		Message: e.summary(), Authentication: e.authentication(), DKIMSignatures: []Signature{}, ARC: arcReport(e.chain),
		Alignment: Alignment{FromDomain: e.fromDomain, OrganizationalDomain: e.fromOrg},
		Hops:      []Hop{}, SpamVerdicts: e.spam, List: e.list, HeadersCount: len(e.msg.Fields),
		DuplicateHeaders: e.duplicates(), MissingHeaders: e.missing(), MalformedLines: []BadLine{}, Damage: append([]Damage{}, e.damage...),
	}
	for i := range e.signatures {
		f.DKIMSignatures = append(f.DKIMSignatures, e.signatures[i].Signature)
	}
	if aligned, known := e.aligned("spf"); known {
		f.Alignment.SPFAligned = &aligned
	}
	if aligned, known := e.aligned("dkim"); known {
		f.Alignment.DKIMAligned = &aligned
	}
	for i := range e.hops {
		f.Hops = append(f.Hops, e.hopReport(i))
	}
	if d, known := e.totalDelay(); known {
		f.TotalDelay = new(int64(d.Seconds()))
	}
	for _, l := range e.badLines() {
		if len(f.MalformedLines) < maxBadLines {
			f.MalformedLines = append(f.MalformedLines, BadLine{l.Line, clip(message.Unfold(l.Raw), maxShown)})
		}
	}
	return f
}

// badLines are the malformed lines, without the one that mailbox files have before a message.
func (e *evidence) badLines() []message.Line {
	lines := e.msg.Malformed
	if _, ok := e.msg.Mailbox(); ok {
		lines = lines[1:]
	}
	return lines
}

func (e *evidence) summary() Summary {
	m := e.msg
	s := Summary{
		From: shown(e.from), To: shown(e.to), ReplyTo: shown(e.replyTo),
		Mailer: e.text("X-Mailer", maxShown), Subject: e.text("Subject", maxSubject),
	}
	if s.Mailer == "" {
		s.Mailer = e.text("User-Agent", maxShown)
	}
	if len(e.sender) > 0 {
		s.Sender = shown(e.sender[:1])[0]
	}
	if e.returnPath != nil {
		s.ReturnPath = new(clip(message.DecodeText(e.returnPath.Addr()), maxShown))
	}
	if e.dated && e.date.Time.Year() < 10000 {
		s.Date = new(e.date.Time.UTC())
	}
	if f := m.First("Message-ID"); f != nil {
		if ids := message.MessageIDs(f.Value()); len(ids) > 0 {
			s.MessageID = clip(ids[0], maxShown)
		}
	}
	return s
}

// text is the first field of a name, decoded.
func (e *evidence) text(name string, most int) string {
	if f := e.msg.First(name); f != nil {
		return clip(f.Text(), most)
	}
	return ""
}

// shown writes addresses for people.
func shown(list []message.Address) []string {
	texts := []string{}
	for _, a := range list {
		if len(texts) == maxListed {
			break
		}
		addr := message.DecodeText(a.Addr())
		switch {
		case addr == "":
			texts = append(texts, clip(a.Name, maxShown))
		case a.Name == "":
			texts = append(texts, clip(addr, maxShown))
		default:
			texts = append(texts, clip(a.Name, maxShown)+" <"+clip(addr, maxShown)+">")
		}
	}
	return texts
}

func (e *evidence) authentication() Authentication {
	list := func(method string) []AuthResult {
		results := []AuthResult{}
		for i := range e.authFields {
			a := &e.authFields[i]
			if a.header == nil {
				continue
			}
			for _, r := range a.header.Results {
				if r.Method == method && len(results) < maxResults {
					results = append(results, e.authResult(a, r))
				}
			}
		}
		return results
	}
	all := Authentication{SPF: list("spf"), DKIM: list("dkim"), DMARC: list("dmarc"), BIMI: list("bimi"),
		ARC: list("arc")}
	for i := range e.authFields {
		if a := &e.authFields[i]; a.spf != nil && len(all.SPF) < maxResults {
			all.SPF = append(all.SPF, e.authResult(a, spfResult(a.spf)))
		}
	}
	return all
}

func (e *evidence) authResult(a *authField, r authres.Result) AuthResult {
	result := AuthResult{
		Result: clip(r.Value, maxShown), Domain: clip(r.Domain(), maxShown),
		Selector: clip(r.Property("header.s", "header.selector"), maxShown), Reason: clip(r.Reason, maxShown),
		AuthservID: clip(a.id, maxShown), Credible: e.counts(a), Field: clip(a.field.Name, maxShown),
		Raw: clip(r.Raw, maxRaw),
	}
	if r.Raw == "" {
		result.Raw = clip(a.field.Value(), maxRaw)
	}
	if r.Method == "dmarc" {
		told := r.Property("policy.dmarc", "policy.published-domain-policy")
		result.Policy = strings.ToLower(clip(firstOf(r.Note("p"), r.Note("policy"), told), maxShown))
	}
	if result.Reason == "" {
		result.Reason = clip(strings.Join(r.Comments, "; "), maxShown)
	}
	if trusted, known := e.trusts(a.id); known {
		result.Trusted = &trusted
	}
	return result
}

// firstOf returns the first text that is not empty.
func firstOf(texts ...string) string {
	for _, t := range texts {
		if t != "" {
			return t
		}
	}
	return ""
}

func (e *evidence) hopReport(i int) Hop {
	h := &e.hops[i]
	r := Hop{
		Index: i, From: clip(h.from, maxShown), HELO: clip(h.helo, maxShown),
		RDNS: clip(h.rdns, maxShown), By: clip(h.by, maxShown),
		Via: clip(h.via, maxShown), With: clip(h.with, maxShown), ID: clip(h.id, maxShown), For: clip(h.rcpt, maxShown),
		TLSVersion: clip(h.tlsVersion, maxShown), TLSCipher: clip(h.tlsCipher,
			maxShown), Border: i == e.border, Raw: clip(h.field.Value(), maxRaw),
	}
	if h.rdns != "" {
		r.Service = serviceName(provider.ByPTR(h.rdns))
	}
	if h.ip.IsValid() {
		r.IP, r.PrivateIP = new(h.ip), isPrivate(h.ip)
	}
	if !h.time.IsZero() {
		r.Timestamp = new(h.time.UTC())
	}
	if h.timed {
		r.Delay = new(int64(h.delay.Seconds()))
	}
	if h.tls != tlsUnknown {
		r.TLS = new(h.tls == tlsYes)
	}
	return r
}
