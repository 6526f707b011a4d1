package dnssec

import (
	"context"
	"crypto"
	"encoding/asn1"
	"encoding/base64"
	"math/big"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/miekg/dns"
	"github.com/stretchr/testify/require"
)

// now is when the tests take place.
var now = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// A farm is a small tree of signed zones behind a resolver that does not validate. What is not there it
// denies with a record made for the occasion (RFC 9824). Any answer may be replaced, also by one that
// no sane server would give: everything can be signed with the keys of every zone.
type farm struct {
	t       testing.TB
	records map[setKey][]dns.RR
	keys    map[string][]signingKey // by zone
	edited  map[setKey]*dns.Msg
	errors  map[setKey]error

	mu    sync.Mutex
	asked []setKey
}

type signingKey struct {
	*dns.DNSKEY
	private crypto.Signer
}

// newFarm makes the zones ".", "test." and "zone.test.", each with one key.
func newFarm(t testing.TB) *farm {
	f := &farm{
		t: t, records: map[setKey][]dns.RR{}, keys: map[string][]signingKey{},
		edited: map[setKey]*dns.Msg{}, errors: map[setKey]error{},
	}
	for _, zone := range []string{".", "test.", "zone.test."} {
		f.zone(zone, f.key(zone, dns.ECDSAP256SHA256, 256, 257))
	}
	f.add(". 300 SOA ns.example. hostmaster.example. 1 7200 900 1209600 300")
	f.add("zone.test. 300 SOA ns.zone.test. hostmaster.zone.test. 1 7200 900 1209600 300",
		"www.zone.test. 300 A 192.0.2.1")
	return f
}

// madeKeys holds keys by zone, algorithm and flags, for making them is slow.
var madeKeys sync.Map

// key makes a key. The same call gives the same key.
func (f *farm) key(zone string, algorithm uint8, bits int, flags uint16, more ...int) signingKey {
	type id struct {
		zone      string
		algorithm uint8
		bits      int
		flags     uint16
		more      int
	}
	is := id{zone, algorithm, bits, flags, len(more)}
	if k, ok := madeKeys.Load(is); ok {
		return k.(signingKey)
	}
	k := &dns.DNSKEY{
		Hdr:   dns.RR_Header{Name: zone, Rrtype: dns.TypeDNSKEY, Class: dns.ClassINET, Ttl: 300},
		Flags: flags, Protocol: 3, Algorithm: algorithm,
	}
	private, err := k.Generate(bits)
	require.NoError(f.t, err)
	madeKeys.Store(is, signingKey{k, private.(crypto.Signer)})
	return signingKey{k, private.(crypto.Signer)}
}

// zone adds a zone with keys, of which the first signs everything and has the DS record.
func (f *farm) zone(zone string, keys ...signingKey) {
	f.keys[zone] = keys
	for _, k := range keys {
		f.put(k.DNSKEY)
	}
	if zone != "." {
		f.put(keys[0].ToDS(dns.SHA256))
	}
	f.add(zone + " 300 NS ns.example.")
}

func (f *farm) put(list ...dns.RR) {
	for _, rr := range list {
		n, ok := parseName(rr.Header().Name)
		require.True(f.t, ok)
		key := setKey{n, rr.Header().Rrtype}
		f.records[key] = append(f.records[key], rr)
	}
}

func (f *farm) add(lines ...string) { f.put(rrs(lines)...) }

// remove takes all records of a type away.
func (f *farm) remove(name string, rrtype uint16) { delete(f.records, at(name, rrtype)) }

func at(name string, rrtype uint16) setKey {
	n, _ := parseName(name)
	return setKey{n, rrtype}
}

// sign signs a set of records with the first key of a zone.
func (f *farm) sign(zone string, set []dns.RR, changes ...func(*dns.RRSIG)) *dns.RRSIG {
	return f.signWith(f.keys[zone][0], zone, set, changes...)
}

func (f *farm) signWith(k signingKey, zone string, set []dns.RR, changes ...func(*dns.RRSIG)) *dns.RRSIG {
	sig := &dns.RRSIG{
		Algorithm: k.Algorithm, KeyTag: k.KeyTag(), SignerName: zone, OrigTtl: set[0].Header().Ttl,
		Inception: uint32(now.Add(-24 * time.Hour).Unix()), Expiration: uint32(now.AddDate(0, 0, 14).Unix()),
	}
	require.NoError(f.t, sig.Sign(k.private, set))
	for _, change := range changes {
		change(sig)
	}
	if len(changes) > 0 && sig.Signature != "" { // as the signer of the change would have made it
		f.resign(k, sig, set)
	}
	return sig
}

// resign makes the signature anew over what it says now, by this package's own canonical form.
func (f *farm) resign(k signingKey, sig *dns.RRSIG, set []dns.RR) {
	m := newMessage(&dns.Msg{Answer: set}, nil)
	signer, _ := parseName(sig.SignerName)
	data := signedData(sig, signer, m.answer[at(set[0].Header().Name, set[0].Header().Rrtype)])
	require.NotNil(f.t, data)
	hash := hashes[sig.Algorithm].New()
	hash.Write(data)
	der, err := k.private.Sign(nil, hash.Sum(nil), hashes[sig.Algorithm])
	require.NoError(f.t, err)
	sig.Signature = plainECDSA(f.t, der)
}

// line makes records from lines and signs them as one set.
func (f *farm) signed(zone string, lines ...string) []dns.RR {
	set := rrs(lines)
	return append(set, f.sign(zone, set))
}

// closest returns the zone that a name and type belongs to.
func (f *farm) closest(n name, rrtype uint16) string {
	if rrtype == dns.TypeDS && n != root {
		n = n.parent()
	}
	for ; ; n = n.parent() {
		if _, ok := f.keys[n.fqdn()]; ok {
			return n.fqdn()
		}
	}
}

// honest answers as the zones are.
func (f *farm) honest(q dns.Question) *dns.Msg {
	m := new(dns.Msg)
	key := at(q.Name, q.Qtype)
	zone := f.closest(key.owner, key.rrtype)
	if set := f.records[key]; len(set) > 0 {
		m.Answer = slices.Clone(set)
		m.Answer = append(m.Answer, f.sign(zone, set))
		return m
	}
	if set := f.records[setKey{key.owner, dns.TypeCNAME}]; len(set) > 0 && q.Qtype != dns.TypeNSEC {
		m.Answer = append(slices.Clone(set), f.sign(zone, set))
		return m
	}
	if len(key.owner) > maxWire-len("\x01\x00") {
		m.Rcode = dns.RcodeServerFailure // there is no room for the next name
		return m
	}
	m.Ns = f.denial(zone, key.owner)
	return m
}

// denial makes a record about a name: the types that it has, or that it does not exist.
func (f *farm) denial(zone string, n name) []dns.RR {
	has := types{dns.TypeRRSIG, dns.TypeNSEC}
	exists := false
	for key := range f.records {
		if _, cut := f.keys[n.fqdn()]; cut && n.fqdn() != zone && key.rrtype != dns.TypeNS && key.rrtype != dns.TypeDS {
			continue // of the zone below
		}
		exists = exists || key.owner.within(n)
		if key.owner == n && (key.rrtype != dns.TypeDS || n.fqdn() != zone) {
			has = append(has, key.rrtype)
		}
	}
	if !exists {
		has = append(has, typeNXNAME)
	}
	slices.Sort(has)
	set := []dns.RR{&dns.NSEC{
		Hdr:        dns.RR_Header{Name: n.fqdn(), Rrtype: dns.TypeNSEC, Class: dns.ClassINET, Ttl: 300},
		NextDomain: `\000.` + strings.TrimPrefix(n.fqdn(), "."), TypeBitMap: has,
	}}
	return append(set, f.sign(zone, set))
}

// edit replaces an answer by what is made of the honest one.
func (f *farm) edit(name string, rrtype uint16, change func(*dns.Msg)) {
	key := at(name, rrtype)
	m := f.edited[key]
	if m == nil {
		m = f.honest(dns.Question{Name: key.owner.fqdn(), Qtype: rrtype})
	}
	change(m)
	f.edited[key] = m
}

func (f *farm) Exchange(ctx context.Context, q *dns.Msg) (*dns.Msg, error) {
	key := at(q.Question[0].Name, q.Question[0].Qtype)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked = append(f.asked, key)
	if err := f.errors[key]; err != nil {
		return nil, err
	}
	m := f.edited[key]
	if m == nil {
		m = f.honest(q.Question[0])
	}
	reply := m.Copy()
	reply.Id, reply.Response, reply.Question = q.Id, true, q.Question
	return reply, ctx.Err()
}

// env is the world with the farm as its resolver.
func (f *farm) env() *diag.Env {
	var anchors []dns.RR
	for _, k := range f.keys["."][:1] {
		anchors = append(anchors, k.ToDS(dns.SHA256))
	}
	return &diag.Env{Resolver: f, Dial: unreachable, TrustAnchors: anchors, Clock: func() time.Time { return now }}
}

// validate validates without memory of earlier signatures.
func (f *farm) validate(name string, rrtype uint16) *Result {
	v := Validator{Env: f.env(), memo: new(memo), fullReport: true}
	r, err := v.Validate(context.Background(), name, rrtype)
	require.NoError(f.t, err)
	return r
}

// plainECDSA returns a signature over P-256 as DNSSEC writes it (RFC 6605 section 4).
func plainECDSA(t testing.TB, der []byte) string {
	var parsed struct{ R, S *big.Int }
	_, err := asn1.Unmarshal(der, &parsed)
	require.NoError(t, err)
	both := append(parsed.R.FillBytes(make([]byte, 32)), parsed.S.FillBytes(make([]byte, 32))...)
	return base64.StdEncoding.EncodeToString(both)
}
