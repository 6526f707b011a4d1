package diagtest_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/diag/dnsmsg"
	"github.com/miekg/dns"
)

// A validator checks answers as RFC 4035 section 5 says, step by step from the anchor, on its own
// terms: it shares no code with the signer.
type validator struct {
	resolver diag.Resolver
	anchors  []*dns.DS
	now      time.Time
}

func (v *validator) ask(ctx context.Context, name string, qtype uint16) (*dns.Msg, error) {
	q := dnsmsg.Question(name, qtype, true)
	q.CheckingDisabled = true
	return v.resolver.Exchange(ctx, q)
}

// validate returns nil if the answer is secure, and why it is not.
func (v *validator) validate(ctx context.Context, name string, qtype uint16) error {
	m, err := v.ask(ctx, name, qtype)
	if err != nil {
		return err
	}
	for _, set := range rrsets(append(slices.Clone(m.Answer), m.Ns...)) {
		if madeOfDNAME(set, m) {
			continue
		}
		if err := v.checkSet(ctx, set, m); err != nil {
			return err
		}
	}
	end := dns.CanonicalName(name)
	chain, rrs := dnsmsg.FollowAliases(m, name, qtype)
	for _, c := range chain {
		end = dns.CanonicalName(c.Target)
	}
	if len(rrs) > 0 {
		return nil
	}
	return proveAbsence(m, end, qtype)
}

func rrsets(rrs []dns.RR) [][]dns.RR {
	var sets [][]dns.RR
	for _, rr := range rrs {
		if rr.Header().Rrtype == dns.TypeRRSIG {
			continue
		}
		i := slices.IndexFunc(sets, func(set []dns.RR) bool {
			return set[0].Header().Rrtype == rr.Header().Rrtype && set[0].Header().Name == rr.Header().Name
		})
		if i < 0 {
			sets = append(sets, []dns.RR{rr})
			continue
		}
		sets[i] = append(sets[i], rr)
	}
	return sets
}

// madeOfDNAME reports whether a CNAME is unsigned because it was synthesized from a DNAME.
func madeOfDNAME(set []dns.RR, m *dns.Msg) bool {
	return set[0].Header().Rrtype == dns.TypeCNAME && slices.ContainsFunc(m.Answer, func(rr dns.RR) bool {
		return rr.Header().Rrtype == dns.TypeDNAME && dns.IsSubDomain(rr.Header().Name, set[0].Header().Name)
	})
}

func (v *validator) checkSet(ctx context.Context, set []dns.RR, m *dns.Msg) error {
	owner, what := set[0].Header().Name, dns.TypeToString[set[0].Header().Rrtype]
	failure := fmt.Errorf("%s %s has no signature", owner, what)
	for _, rr := range append(slices.Clone(m.Answer), m.Ns...) {
		sig, ok := rr.(*dns.RRSIG)
		if !ok || sig.Hdr.Name != owner || sig.TypeCovered != set[0].Header().Rrtype {
			continue
		}
		if err := v.checkSignature(ctx, set, sig); err != nil {
			failure = fmt.Errorf("%s %s: %w", owner, what, err)
			continue
		}
		if int(sig.Labels) < dns.CountLabel(owner) && !strings.HasPrefix(owner, "*.") {
			return proveExpansion(m, owner, int(sig.Labels))
		}
		return nil
	}
	return failure
}

func (v *validator) checkSignature(ctx context.Context, set []dns.RR, sig *dns.RRSIG) error {
	if !sig.ValidityPeriod(v.now) {
		return errors.New("out of its period")
	}
	if !dns.IsSubDomain(sig.SignerName, set[0].Header().Name) {
		return errors.New("the signer is not above the name")
	}
	keys, err := v.keys(ctx, sig.SignerName)
	if err != nil {
		return err
	}
	return verify(set, sig, keys)
}

func verify(set []dns.RR, sig *dns.RRSIG, keys []*dns.DNSKEY) error {
	for _, key := range keys {
		if key.KeyTag() == sig.KeyTag && key.Algorithm == sig.Algorithm {
			return sig.Verify(key, set)
		}
	}
	return errors.New("no such key")
}

// keys returns the validated keys of a zone.
func (v *validator) keys(ctx context.Context, zone string) ([]*dns.DNSKEY, error) {
	trusted := v.anchors
	if zone != "." {
		m, err := v.ask(ctx, zone, dns.TypeDS)
		if err != nil {
			return nil, err
		}
		trusted = nil
		for _, set := range rrsets(m.Answer) {
			if err := v.checkSet(ctx, set, m); err != nil {
				return nil, err
			}
			for _, rr := range set {
				trusted = append(trusted, rr.(*dns.DS))
			}
		}
	}
	m, err := v.ask(ctx, zone, dns.TypeDNSKEY)
	if err != nil {
		return nil, err
	}
	var keys, entry []*dns.DNSKEY
	var set []dns.RR
	for _, rr := range m.Answer {
		if key, ok := rr.(*dns.DNSKEY); ok {
			keys, set = append(keys, key), append(set, rr)
			if slices.ContainsFunc(trusted, func(ds *dns.DS) bool {
				made := key.ToDS(ds.DigestType)
				return made != nil && made.KeyTag == ds.KeyTag && strings.EqualFold(made.Digest, ds.Digest)
			}) {
				entry = append(entry, key)
			}
		}
	}
	for _, rr := range m.Answer {
		if sig, ok := rr.(*dns.RRSIG); ok && sig.ValidityPeriod(v.now) && verify(set, sig, entry) == nil {
			return keys, nil
		}
	}
	return nil, fmt.Errorf("the keys of %s are not trusted", zone)
}

// labelsOf returns the last labels of a name.
func labelsOf(name string, count int) string {
	labels := dns.SplitDomainName(name)
	return dns.Fqdn(strings.Join(labels[len(labels)-count:], "."))
}

// proveExpansion checks that nothing nearer exists than the wildcard that was expanded.
func proveExpansion(m *dns.Msg, owner string, labels int) error {
	next := labelsOf(owner, labels+1)
	for _, rr := range m.Ns {
		if n, ok := rr.(*dns.NSEC); ok && spans(n, owner) {
			return nil
		}
		if n, ok := rr.(*dns.NSEC3); ok && n.Cover(next) {
			return nil
		}
	}
	return fmt.Errorf("%s may exist beside the wildcard", owner)
}

// compare orders names by RFC 4034 section 6.1.
func compare(a, b string) int { return slices.Compare(reversed(a), reversed(b)) }

// reversed returns the labels of a name from the right, as unescaped octets.
func reversed(name string) []string {
	wire, labels := make([]byte, 256), []string{}
	if _, err := dns.PackDomainName(strings.ToLower(name), wire, 0, nil, false); err != nil {
		return nil
	}
	for i := 0; wire[i] != 0; i += 1 + int(wire[i]) {
		labels = append(labels, string(wire[i+1:i+1+int(wire[i])]))
	}
	slices.Reverse(labels)
	return labels
}

func spans(n *dns.NSEC, name string) bool {
	after, before := compare(n.Hdr.Name, name) < 0, compare(name, n.NextDomain) < 0
	if compare(n.Hdr.Name, n.NextDomain) < 0 {
		return after && before
	}
	return after || before
}

// proveAbsence checks the proof that a name, or its records of a type, do not exist.
func proveAbsence(m *dns.Msg, name string, qtype uint16) error {
	var nsec []*dns.NSEC
	var nsec3 []*dns.NSEC3
	for _, rr := range m.Ns {
		switch rr := rr.(type) {
		case *dns.NSEC:
			nsec = append(nsec, rr)
		case *dns.NSEC3:
			nsec3 = append(nsec3, rr)
		}
	}
	switch {
	case len(nsec) > 0:
		return absentNSEC(nsec, m.Rcode, name, qtype)
	case len(nsec3) > 0:
		return absentNSEC3(nsec3, m.Rcode, name, qtype)
	}
	return errors.New("no proof of absence")
}

func lacks(bitmap []uint16, qtype uint16) bool {
	return !slices.Contains(bitmap, qtype) && !slices.Contains(bitmap, dns.TypeCNAME)
}

// absentNSEC follows RFC 4035 section 5.4.
func absentNSEC(list []*dns.NSEC, rcode int, name string, qtype uint16) error {
	spanned := slices.IndexFunc(list, func(n *dns.NSEC) bool { return spans(n, name) })
	if i := slices.IndexFunc(list, func(n *dns.NSEC) bool { return compare(n.Hdr.Name, name) == 0 }); i >= 0 {
		if rcode == dns.RcodeSuccess && lacks(list[i].TypeBitMap, qtype) {
			return nil
		}
		return fmt.Errorf("%s exists with the type", name)
	}
	if spanned < 0 {
		return fmt.Errorf("%s is not spanned", name)
	}
	if dns.IsSubDomain(name, list[spanned].NextDomain) { // an empty non-terminal
		if rcode == dns.RcodeSuccess {
			return nil
		}
		return fmt.Errorf("%s is an empty non-terminal", name)
	}
	common := max(dns.CompareDomainName(name, list[spanned].Hdr.Name),
		dns.CompareDomainName(name, list[spanned].NextDomain))
	wildcard := "*." + strings.TrimPrefix(labelsOf(name, common), ".")
	for _, n := range list {
		if compare(n.Hdr.Name, wildcard) == 0 && rcode == dns.RcodeSuccess && lacks(n.TypeBitMap, qtype) {
			return nil
		}
		if spans(n, wildcard) && rcode == dns.RcodeNameError {
			return nil
		}
	}
	return fmt.Errorf("nothing is proved about %s", wildcard)
}

// absentNSEC3 follows RFC 5155 section 8.
func absentNSEC3(list []*dns.NSEC3, rcode int, name string, qtype uint16) error {
	match := func(name string) *dns.NSEC3 {
		i := slices.IndexFunc(list, func(n *dns.NSEC3) bool { return n.Match(name) })
		if i < 0 {
			return nil
		}
		return list[i]
	}
	if n := match(name); n != nil {
		if rcode == dns.RcodeSuccess && lacks(n.TypeBitMap, qtype) {
			return nil
		}
		return fmt.Errorf("%s exists with the type", name)
	}
	for count := dns.CountLabel(name) - 1; count >= 0; count-- {
		encloser := labelsOf(name, count)
		if match(encloser) == nil {
			continue
		}
		next, wildcard := labelsOf(name, count+1), "*."+strings.TrimPrefix(encloser, ".")
		i := slices.IndexFunc(list, func(n *dns.NSEC3) bool { return n.Cover(next) })
		if i < 0 {
			return fmt.Errorf("%s is not covered", next)
		}
		n := match(wildcard)
		covered := slices.ContainsFunc(list, func(n *dns.NSEC3) bool { return n.Cover(wildcard) })
		switch optOut := list[i].Flags&1 == 1; {
		case rcode == dns.RcodeNameError && covered,
			rcode == dns.RcodeSuccess && n != nil && lacks(n.TypeBitMap, qtype),
			rcode == dns.RcodeSuccess && optOut:
			return nil
		}
		return fmt.Errorf("nothing is proved about %s", wildcard)
	}
	return fmt.Errorf("no ancestor of %s is proved", name)
}

// A walker asks from a root server downwards, and takes what an authoritative server says.
type walker struct{ world *diagtest.World }

func (w walker) Exchange(ctx context.Context, q *dns.Msg) (*dns.Msg, error) {
	server := "198.41.0.4"
	for range 8 {
		m, err := ask(ctx, w.world, "tcp", server, q)
		if err != nil {
			return nil, err
		}
		if m.Authoritative || m.Rcode != dns.RcodeSuccess {
			return m, nil
		}
		i := slices.IndexFunc(m.Extra, func(rr dns.RR) bool { return rr.Header().Rrtype == dns.TypeA })
		if i < 0 {
			return nil, fmt.Errorf("%s refers without glue: %v", server, m)
		}
		server = m.Extra[i].(*dns.A).A.String()
	}
	return nil, errors.New("too many referrals")
}
