package dnsbl

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/dnsmsg"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/miekg/dns"
)

// timeout bounds the wait for all lists together. One that has not answered by then counts as unanswered; receivers
// wait no longer either.
const timeout = 5 * time.Second

// The test addresses (RFC 5782 section 5): each list has the first, and none has the second.
var (
	listedTest4   = netip.MustParseAddr("127.0.0.2")
	unlistedTest4 = netip.MustParseAddr("127.0.0.1")
	listedTest6   = netip.MustParseAddr("::ffff:127.0.0.2")
	unlistedTest6 = netip.MustParseAddr("::ffff:127.0.0.1")
)

type probe struct {
	list  *List
	keyed bool
	zone  string // zone to query, absolute; includes the key, so it must not be shown

	limited  bool // not queried, because of its rate
	address  reply
	latency  time.Duration
	listed   []reply // of test addresses that must be listed
	unlisted []reply // of test addresses that must not be
	reasons  []string

	outcome outcome
}

type reply struct {
	addrs []netip.Addr
	fault Status // why there is no answer: TimedOut, Refused or Failed; empty with one
	why   string // the same as the end of a sentence
}

type evidence struct {
	ip      diag.IP
	purpose purpose
	probes  []*probe // as the file has them

	began, ended time.Time
}

// gather queries all lists concurrently. Unanswered queries are in the evidence. A file has at most [maxLists] lists,
// each of which gets at most five concurrent queries: that bounds the pending queries.
func gather(ctx context.Context, env *diag.Env, ip diag.IP, probes []*probe, secrets keys) *evidence {
	e := &evidence{ip: ip, purpose: purposeOf(ip.Addr), probes: probes, began: env.Now()}
	limits := diag.Shared(env, limiterKey{}, func() *limiter { return &limiter{next: map[string]time.Time{}} })
	ask, cancel := diag.Within(ctx, timeout)
	defer cancel()
	var g diag.Group
	for _, p := range probes {
		if p.limited = !limits.allow(p.list, e.began); p.limited {
			continue
		}
		g.Go(func() { p.ask(ask, env, ip, secrets) })
	}
	g.Wait()
	for _, p := range probes {
		p.outcome = p.conclude()
	}
	e.ended = env.Now()
	return e
}

// ask queries a list for an address and the test addresses concurrently, and then for the reason of a listing.
func (p *probe) ask(ctx context.Context, env *diag.Env, ip diag.IP, secrets keys) {
	var listed, unlisted []netip.Addr
	switch {
	case !p.list.Test:
	case ip.Is4():
		listed, unlisted = []netip.Addr{listedTest4}, []netip.Addr{unlistedTest4}
	default:
		// Most lists of both kinds have their test entries for IPv4 only.
		listed, unlisted = []netip.Addr{listedTest6, listedTest4}, []netip.Addr{unlistedTest6, unlistedTest4}
	}
	p.listed, p.unlisted = make([]reply, len(listed)), make([]reply, len(unlisted))
	var g diag.Group
	g.Go(func() {
		began := env.Now()
		p.address = p.query(ctx, env, ip.Addr, secrets)
		p.latency = max(0, env.Now().Sub(began))
	})
	for i := range listed {
		g.Go(func() { p.listed[i] = p.query(ctx, env, listed[i], secrets) })
		g.Go(func() { p.unlisted[i] = p.query(ctx, env, unlisted[i], secrets) })
	}
	g.Wait()
	if p.conclude().status == Listed {
		p.reasons = reasons(diag.Lookup[*dns.TXT](ctx, env, p.name(ip.Addr)), secrets)
	}
}

func (p *probe) query(ctx context.Context, env *diag.Env, ip netip.Addr, secrets keys) reply {
	a := diag.Lookup[*dns.A](ctx, env, p.name(ip))
	if err := a.Err(); err != nil {
		return failed(a, secrets)
	}
	var r reply
	for _, rr := range a.Records[:min(len(a.Records), maxAddrs)] {
		if addr, ok := netip.AddrFromSlice(rr.A.To4()); ok {
			r.addrs = append(r.addrs, addr)
		}
	}
	return r
}

// maxAddrs bounds the return codes of one answer: a list of lists has one for each, which are a dozen.
const maxAddrs = 32

// failed is the reply of a list that did not answer. The queried name may contain a key, so the text is that of the
// outcome and not that of the error.
func failed(a diag.Answer[*dns.A], secrets keys) reply {
	switch {
	case !a.Silent() && a.Rcode == dns.RcodeRefused:
		return reply{fault: Refused, why: "its name servers or the resolver answered REFUSED"}
	case !a.Silent() && a.Rcode != dns.RcodeSuccess && a.Rcode != dns.RcodeNameError:
		return reply{fault: Failed, why: "the lookup ended with " + a.RcodeName()}
	case !a.Silent():
		return reply{fault: Failed, why: "the resolver filters the list's zone by a policy of its own"}
	}
	why := diag.Reason(a.Err())
	if why == noResponse {
		return reply{fault: TimedOut, why: why}
	}
	return reply{fault: Failed, why: "the lookup failed: " + phrase.Quote(secrets.redact(why))}
}

// noResponse is the text of [diag.Reason] for a query that was not answered in time.
const noResponse = "no response"

// name returns the name to look up in a list for an address: its octets or, for IPv6, its nibbles in reverse order
// before the zone (RFC 5782 sections 2.1 and 2.4).
func (p *probe) name(ip netip.Addr) string { return reversed(ip) + "." + p.zone }

func reversed(ip netip.Addr) string {
	if ip.Is4() {
		o := ip.As4()
		return fmt.Sprintf("%d.%d.%d.%d", o[3], o[2], o[1], o[0])
	}
	const digits = "0123456789abcdef"
	o := ip.As16()
	b := make([]byte, 0, 64)
	for i := len(o) - 1; i >= 0; i-- {
		b = append(b, digits[o[i]&0xf], '.', digits[o[i]>>4], '.')
	}
	return string(b[:len(b)-1])
}

// The bounds of a list's answer about an address. One text for an address is usual.
const (
	maxTexts  = 4
	maxReason = 300
)

func reasons(a diag.Answer[*dns.TXT], secrets keys) []string {
	var list []string
	for _, rr := range a.Records[:min(len(a.Records), maxTexts)] {
		if text := strings.Join(strings.FieldsFunc(secrets.redact(dnsmsg.TXT(rr)), unprintable), " "); text != "" {
			list = append(list, phrase.Clip(text, maxReason))
		}
	}
	return list
}

func unprintable(r rune) bool {
	return unicode.IsSpace(r) || unicode.IsControl(r) || unicode.Is(unicode.Cf, r)
}

// KeysFile is the name of the file of keys among those of the operator, see [diag.List]: a JSON object from the name
// of an account, as key_name has it in the file of lists, to its key. There is no built-in one. A key is only part of
// the queried name: reports, errors and logs do not have it.
const KeysFile = "dnsbl-keys.json"

// A secret is a key. Formatting it does not show it.
type secret struct{ text string }

func (secret) String() string   { return "(secret)" }
func (secret) GoString() string { return "(secret)" }

type keys map[string]secret

// maxKey bounds a key, which is a label of the DNS (RFC 1035 section 2.3.4) with its dot.
const maxKey = 64

// CheckKeys returns what is wrong with a file of keys, or nil. The error does not reveal the contents of the file.
func CheckKeys(data []byte) error { _, err := parseKeys(data); return err }

// parseKeys reads a file of keys. The error does not reveal its contents, not even names, since names and keys may
// have been swapped.
func parseKeys(data []byte) (keys, error) {
	var file map[string]string
	if err := diag.DecodeList(data, &file, true); err != nil || file == nil || len(data) > maxFile {
		return nil, errors.New("it is not a JSON object of the names of accounts, each once, with their keys")
	}
	k := keys{}
	for name, text := range file {
		if !isID(name) || !isKey(text) {
			return nil, errors.New("a member is not the name of an account and a key of letters, digits and hyphens")
		}
		k[name] = secret{text}
	}
	return k, nil
}

func isKey(s string) bool {
	return s != "" && len(s) < maxKey &&
		strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") == ""
}

// queryZone returns the zone in which a list is queried, absolute, and whether with a key; empty if not at all.
func (k keys) queryZone(l *List) (zone string, keyed bool) {
	if key, ok := k[l.KeyName]; ok && l.KeyedZone != "" {
		return strings.Replace(l.KeyedZone, keyMark, key.text, 1) + ".", true
	}
	if l.Zone == "" {
		return "", false
	}
	return l.Zone + ".", false
}

// redact removes the keys from a text of third parties, which may echo the query.
func (k keys) redact(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	for _, key := range k {
		for {
			at := strings.Index(lowerASCII(s), lowerASCII(key.text))
			if at < 0 {
				break
			}
			s = s[:at] + "…" + s[at+len(key.text):]
		}
	}
	return s
}

// lowerASCII returns a text in lower case as the DNS compares names (RFC 4343 section 3). Its length stays as it is.
func lowerASCII(s string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			r += 'a' - 'A'
		}
		return r
	}, s)
}

// A limiter holds the rates of lists, for all who share an environment. It is a GCRA: each list has a time
// before which the next lookup is too early. It has an entry for each list with a rate, of which there are
// at most [maxLists] in a file.
type limiter struct {
	mu   sync.Mutex
	next map[string]time.Time
}

type limiterKey struct{}

func (l *limiter) allow(list *List, now time.Time) bool {
	if list.Rate.Count == 0 {
		return true
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	interval := list.Rate.Per / time.Duration(list.Rate.Count)
	next := l.next[list.Zone+list.KeyedZone]
	if next.Before(now) {
		next = now
	}
	if next.Add(interval).Sub(now) > list.Rate.Per {
		return false
	}
	l.next[list.Zone+list.KeyedZone] = next.Add(interval)
	return true
}
