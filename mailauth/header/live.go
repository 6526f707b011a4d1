package header

import (
	"cmp"
	"context"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/mailauth/arc"
	"github.com/diagkit/diagkit/mailauth/dkim"
	"github.com/diagkit/diagkit/mailauth/dmarc/policy"
	"github.com/diagkit/diagkit/mailauth/message"
	"github.com/diagkit/diagkit/mailauth/spf"
)

// liveTimeout is how long the DNS is waited for; what has not been answered then is not known.
const liveTimeout = 10 * time.Second

// liveInput is what the checks need to know of a message.
type liveInput struct {
	text       []byte // as sent: the message, or its header alone
	headerOnly bool

	relays   []relay // from the top
	outside  outside
	times    map[int]time.Time // by index of the hop, when it took the message
	recorded []recorded
	claims   claims

	from     []diag.Name // domains of the addresses in all From fields
	envelope *envelope   // nil if the message does not tell
	signers  []diag.Name // domains of its DKIM signatures, as far as they are verified
}

// envelope is the reverse-path.
type envelope struct {
	address string // without brackets; empty for bounces
}

// liveEvidence is what the DNS said about the message.
type liveEvidence struct {
	input *liveInput
	hop   *relay        // the outside hop; nil if it is not known
	hops  []hopEvidence // of all candidates
	why   string        // says why it is the one, or why none is known
	at    time.Time     // when the message was received; now if it does not tell
	now   time.Time     // when the DNS was asked
	ended time.Time

	ptr  *PTR
	rbl  *listing
	spf  *spf.Result // for the envelope sender; nil without hop or envelope
	helo *spf.Result // for the name that the server gave itself; nil without either
	dkim *dkim.Verification
	arc  *arc.Result
	// could is DMARC as if everything had passed that may: it tells what is aligned.
	could *policy.Evaluation
	dmarc dmarcResult
}

// hopEvidence is what the DNS said about one candidate for the outside hop.
type hopEvidence struct {
	ptr       PTR
	rbl       listing
	spf, helo *spf.Result
}

// gatherLive asks the DNS all that it can tell about a message, at once: names and their addresses, SPF records,
// keys, and DMARC records of all domains that may matter.
func gatherLive(ctx context.Context, env *diag.Env, in *liveInput) (*liveEvidence, error) {
	wait, cancel := diag.Within(ctx, liveTimeout)
	defer cancel()
	e := &liveEvidence{input: in, now: env.Now()}
	e.at = in.received(e.now)
	hops := make([]hopEvidence, len(in.outside.candidates))
	var g diag.Group
	for i := range hops {
		in.askHop(wait, env, &g, &in.outside.candidates[i].relay, &hops[i])
	}
	var failure [3]error
	o := dkim.Options{HeaderOnly: in.headerOnly, At: e.at}
	g.Go(func() { e.dkim, failure[0] = dkim.Verify(ctx, env, in.text, o) })
	g.Go(func() { e.arc, failure[1] = arc.Verify(ctx, env, in.text, o) })
	if len(in.from) == 1 {
		g.Go(func() { e.could, failure[2] = policy.Evaluate(ctx, env, in.could()) })
	}
	g.Wait()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	for _, err := range failure {
		if err != nil {
			return nil, err
		}
	}
	e.hops, e.ended = hops, env.Now()
	e.choose(hops)
	e.dmarc = e.evaluate()
	return e, nil
}

// askHop asks about a server that may have delivered the message from outside. What was cut off by the end of the
// time is left out.
func (in *liveInput) askHop(ctx context.Context, env *diag.Env, g *diag.Group, r *relay, h *hopEvidence) {
	g.Go(func() { h.ptr = lookupPTR(ctx, env, r.ip) })
	g.Go(func() { h.rbl = lookupListing(ctx, env, r.ip) })
	check := func(sender, domain string) *spf.Result {
		result, err := spf.Check(ctx, env, spf.CheckRequest{
			IP: r.ip, Sender: sender, HELO: r.helo, Domain: domain, Receiver: r.by,
		})
		if err != nil {
			return &spf.Result{Outcome: spf.Temperror, Domain: domain, Reason: "no response in time"}
		}
		return result
	}
	if in.envelope != nil && (in.envelope.address != "" || organizational(r.helo) != "") {
		g.Go(func() { h.spf = check(in.envelope.address, "") })
	}
	if organizational(r.helo) != "" {
		g.Go(func() { h.helo = check("", r.helo) })
	}
}

// received is when the receiver's own side took the message, as far as the message tells, and not after now.
func (in *liveInput) received(now time.Time) time.Time {
	for _, c := range in.outside.candidates {
		if at := in.times[c.index]; !at.IsZero() && at.Before(now) {
			return at
		}
	}
	return now
}

// could is the message as if SPF and all signatures had passed.
func (in *liveInput) could() policy.Message {
	m := policy.Message{From: in.from[0], DKIM: slices.Clone(in.signers)}
	// Signatures of strangers must not crowd out those that matter.
	author := organizational(m.From.String())
	slices.SortStableFunc(m.DKIM, func(a, b diag.Name) int {
		return cmp.Compare(foreign(a, author), foreign(b, author))
	})
	m.SPF = in.envelopeDomain("")
	if m.SPF.IsZero() && len(in.outside.candidates) > 0 && in.envelope != nil {
		// RFC 7208 section 2.4: bounces have no other identity.
		m.SPF = in.envelopeDomain(in.outside.candidates[len(in.outside.candidates)-1].helo)
	}
	return m
}

// foreign is 0 for a domain of an organization, else 1.
func foreign(d diag.Name, author string) int {
	if organizational(d.String()) == author {
		return 0
	}
	return 1
}

// envelopeDomain is the domain that SPF of the envelope is about; zero if there is none.
func (in *liveInput) envelopeDomain(helo string) diag.Name {
	if in.envelope == nil {
		return diag.Name{}
	}
	if in.envelope.address != "" {
		return mailDomain(in.envelope.address[strings.LastIndexByte(in.envelope.address, '@')+1:])
	}
	return mailDomain(helo)
}

// mailDomain returns a domain that can stand in an address; zero for what cannot.
func mailDomain(s string) diag.Name {
	d, err := diag.ParseDomain(s)
	if err != nil {
		name, err := diag.ParseName(s)
		if err != nil || name.String() == "." || strings.HasPrefix(name.String(), "*") || organizational(s) == "" {
			return diag.Name{}
		}
		return name
	}
	return d.Name()
}

// choose takes over what was learned about the outside hop.
func (e *liveEvidence) choose(hops []hopEvidence) {
	candidates := e.input.outside.candidates
	find := func(ip netip.Addr) *hopEvidence {
		return &hops[slices.IndexFunc(candidates, func(c candidate) bool { return c.ip == ip })]
	}
	e.hop, e.why = e.input.outside.confirm(func(ip netip.Addr) ([]string, error) {
		p := find(ip).ptr
		return p.Confirmed, p.err
	})
	if e.hop != nil {
		h := find(e.hop.ip)
		e.ptr, e.rbl, e.spf, e.helo = &h.ptr, &h.rbl, h.spf, h.helo
	}
}

// signerDomains lists the domains of the signatures that are verified.
func signerDomains(m *message.Message) (domains []diag.Name) {
	n := 0
	for i := range m.Fields {
		f := &m.Fields[i]
		if !f.Is(string(dkim.DKIMSignature)) {
			continue
		}
		if n++; n > dkim.MaxSignatures {
			break
		}
		if s := dkim.ParseSignature(dkim.DKIMSignature, string(f.RawValue())); !s.Domain.IsZero() {
			domains = append(domains, s.Domain.Name())
		}
	}
	return domains
}

// newLiveInput takes from a header what the live checks need.
func newLiveInput(text []byte, headerOnly bool, e *evidence) *liveInput {
	in := &liveInput{text: text, headerOnly: headerOnly, times: map[int]time.Time{}, signers: signerDomains(e.msg)}
	for index := len(e.hops) - 1; index >= 0; index-- {
		h := &e.hops[index]
		in.times[index] = h.time
		in.relays = append(in.relays, relay{
			index: index, from: h.rdns, helo: h.helo, ip: h.ip, by: h.by, byIP: addrIn(h.software),
			authUser: authenticated(h.with), fetched: fetched(h.with), https: strings.EqualFold(h.with, "HTTPS"),
		})
	}
	in.outside = findOutside(in.relays, e.trusted, e.senderHint())
	in.from = fromDomains(e.from)
	in.envelope = e.envelope()
	in.recorded = e.recorded()
	in.claims = e.claims(in)
	return in
}

// fetched reports whether a protocol is one by which mail is read from a mailbox.
func fetched(with string) bool { return hasPrefixFold(with, "POP3") || hasPrefixFold(with, "IMAP") }

// authenticated reports whether a protocol is one for users who have signed in: ESMTPA, ESMTPSA and such (RFC 3848).
func authenticated(with string) bool {
	protocol, _, _ := strings.Cut(strings.ToUpper(with), " ")
	return strings.HasSuffix(protocol, "MTPA") || strings.HasSuffix(protocol, "MTPSA")
}
