package dnssec

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"sync"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/input"
	"github.com/diagkit/diagkit/diag/resolve"
	"github.com/miekg/dns"
)

// A Validator looks up records and validates the answers. Its zero value uses the system's resolver and
// trusts the root zone. It may be used by several goroutines concurrently, and must not be changed after
// first use.
type Validator struct {
	// Env is the world: its Resolver answers the queries, its Clock is compared with the times of signatures,
	// and validation begins with its TrustAnchors. Nil means the real world.
	//
	// The resolver need not validate or be trusted, but it must support DNSSEC: return signatures and proofs
	// if the DO bit is set, and answers that it considers bogus if CD is set.
	Env *diag.Env
	// Anchors are DS and DNSKEY records that replace the trust anchors of Env. If empty, those are used.
	Anchors []dns.RR
	// Iterations is the maximum of additional NSEC3 iterations; a zone with more is treated as unsigned (RFC
	// 9276 section 3.2). 0 means [MaxIterations].
	Iterations int
	// Exempt lists zones that are treated as unsigned, with all names below them: negative trust anchors (RFC 7646).
	Exempt []string

	fullReport bool   // for a report
	extraHosts []name // hosts whose addresses are validated too, for a report
	memo       *memo  // nil means the shared one
}

// A Result is the outcome of validating the answer to one query.
type Result struct {
	Name string // the name asked for, in lower case, with the final dot
	Type uint16
	// Status is the status of the answer. Secure: validated from a trust anchor. Insecure: a zone in the
	// chain is provably unsigned. Bogus: required signatures are missing or invalid. Indeterminate: the
	// servers did not answer, or there is no trust anchor.
	Status diag.DNSSECStatus
	// Failure is the reason that the status is not secure; nil if it is secure.
	Failure *ChainFault
	// Resolver is set only by [Check]: the reason that the answers of the resolver did not validate, if those
	// of the authoritative servers were used instead. Otherwise nil.
	Resolver *ChainFault

	Rcode   int      // rcode of the answer; -1 without one
	Records []dns.RR // the records of the answer: aliases first, then the records asked for
	Aliases []string // targets of the aliases that were followed, with the final dot
	Signed  bool     // whether the answer has signatures, or the zone has keys

	Anchor     string      // zone of the trust anchor, with the final dot; empty without one
	AnchorKeys []AnchorKey // its keys
	Chain      []Zone      // zones from the trust anchor down, then those to which aliases led
	Now        time.Time   // time of validation, by the clock of the environment
	Work       Work

	extraResults []*Result // of other names and types of the domain, for a report; nil if none were asked for
}

// Work counts what a validation cost.
type Work struct {
	Queries    int // queries to the resolver
	Replies    int // queries that got a reply of any kind
	Signatures int // signatures checked
	Hashes     int // names hashed for NSEC3
}

// Validate queries the records of a type and validates the answer, whether it has records, aliases, or a
// proof of absence. Faults of the zone or its servers are part of the result. The error is that of the
// context, or a *[diag.InputError] for an invalid name.
//
// The limits on queries, signature checks and hashes are those in the comment of the package.
func (v *Validator) Validate(ctx context.Context, fqdn string, rrtype uint16) (*Result, error) {
	n, ok := parseName(fqdn)
	if !ok {
		return nil, input.Invalid("name", "%.300q is not a name in the DNS", fqdn)
	}
	return v.validate(ctx, v.Env.DNS(), timeout, n, rrtype)
}

func (v *Validator) validate(ctx context.Context, from diag.Resolver, limit time.Duration, n name, rrtype uint16) (
	*Result, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	fetch, release := newFetcher(ctx, from, limit)
	defer release()
	w := v.begin(fetch)
	fetch.guess(n, rrtype)
	for _, host := range v.extraHosts {
		fetch.guess(host, dns.TypeA)
	}
	r := w.result(w.run(n, rrtype), n, rrtype)
	for _, host := range v.extraHosts {
		r.extraResults = append(r.extraResults, w.result(w.run(host, dns.TypeA), host, dns.TypeA))
	}
	if v.fullReport {
		v.dropUnprovenDS(fetch, r)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return r, nil
}

// dropUnprovenDS withdraws the DS records that are proposed for a signed zone without any, unless all answers of
// the zone that were asked for are known to resolve with them.
func (v *Validator) dropUnprovenDS(fetch *fetcher, r *Result) {
	for i, z := range r.Chain {
		if !z.island() || z.publish == "" {
			continue
		}
		anchors, err := ParseAnchors(z.publish)
		if err != nil {
			continue // keys that cannot be read are not proposed
		}
		with := Validator{Env: v.Env, Anchors: anchors, Iterations: v.Iterations, Exempt: v.Exempt, memo: v.memo}
		w := with.begin(fetch)
		for _, one := range append([]*Result{r}, r.extraResults...) {
			if n, ok := parseName(one.Name); ok && gravity[w.run(n, one.Type).status] > gravity[diag.Insecure] {
				r.Chain[i].publish = ""
			}
		}
	}
}

func (v *Validator) begin(fetch *fetcher) *validation {
	anchors := v.Anchors
	if len(anchors) == 0 && v.Env != nil {
		anchors = v.Env.TrustAnchors
	}
	if len(anchors) == 0 {
		anchors = iana()
	}
	w := &validation{
		engine: engine{iterations: v.Iterations, now: v.Env.Now(), memo: v.memo, thorough: v.fullReport, limits: usual},
		exempt: map[name]bool{}, anchors: newAnchorSet(anchors), fetch: fetch, nodes: map[name]node{},
	}
	if w.memo == nil {
		w.memo = &shared
	}
	for _, zone := range v.Exempt {
		if n, ok := parseName(zone); ok {
			w.exempt[n] = true
		}
	}
	return w
}

func (v *validation) result(c *conclusion, n name, rrtype uint16) *Result {
	v.work.Queries, v.work.Replies = len(v.fetch.asked), v.fetch.replies()
	r := &Result{
		Name: n.fqdn(), Type: rrtype, Status: c.status, Failure: c.why, Rcode: -1, Signed: c.signed,
		Now: v.now, Work: v.work,
	}
	if c.heard {
		r.Rcode = c.rcode
	}
	for _, set := range c.sets {
		r.Records = append(r.Records, set.withTTLLimit(v.now)...)
	}
	for _, alias := range c.aliases {
		r.Aliases = append(r.Aliases, alias.fqdn())
	}
	for _, z := range v.chain {
		z.info.describeRoles()
		r.Chain = append(r.Chain, *z.info)
	}
	if last := len(v.chain) - 1; last >= 0 && len(v.chain[last].info.Keys) > 0 {
		r.Signed = true
	}
	if anchor, ok := v.anchors.closest(n); ok {
		r.Anchor = anchor.fqdn()
		var keys []*key
		if d := v.nodes[anchor]; d.status == diag.Secure {
			keys = d.zone.all
		}
		r.AnchorKeys = anchorKeys(v.anchors[anchor], keys, anchor)
	}
	return r
}

// withTTLLimit returns the records with the time to live for which they may be kept: no longer than was signed,
// nor than the signature is valid (RFC 4035 section 5.3.3).
func (s *rrset) withTTLLimit(now time.Time) []dns.RR {
	if s.proof == nil {
		return s.rrs
	}
	left := resolve.SerialTime(s.proof.Expiration, now).Sub(now) / time.Second
	limit := min(s.proof.OrigTtl, uint32(min(max(left, 0), 1<<31)))
	list := slices.Clone(s.rrs)
	for i, rr := range list {
		if rr.Header().Ttl > limit {
			list[i] = dns.Copy(rr)
			list[i].Header().Ttl = limit
		}
	}
	return list
}

// An engine checks signatures and proofs. It asks nothing, and belongs to one goroutine.
type engine struct {
	now      time.Time
	memo     *memo
	thorough bool // judge every signature of a set, for a report

	work       Work
	limits     limits
	iterations int    // of NSEC3 that count
	needed     budget // of what decides whether a set is right
	spare      budget // of the other signatures, which only a report shows
	rounds     int    // of hashing for the present answer
}

// The limits of the work that signatures may cause. Keys may share a tag and sets have many
// signatures, so that the checks multiply (KeyTrap, CVE-2023-50387). Real zones need one check for a
// set, and one more for each other key with the same tag, of which there are seldom two.
type limits struct {
	checks   int // for one answer
	failures int // checks that fail, in all
	total    int // checks in all; 0 means no limit of its own
}

var usual = limits{checks: maxSignatures, failures: maxFailures}

const (
	maxSignatures = 16 // checks for one answer
	maxFailures   = 8  // checks that fail, in a whole validation
	maxListed     = 32 // signatures, keys and the like that a report lists for a zone
)

// A budget counts signatures checked: for the present answer, in vain for all, and in all.
type budget struct{ checks, failures, total int }

func (b budget) exhausted(l limits) bool {
	return b.checks >= l.checks || b.failures >= l.failures || l.total > 0 && b.total >= l.total
}

// accepted is how many additional iterations of NSEC3 are accepted.
func (e *engine) accepted() int { return cmp.Or(e.iterations, MaxIterations) }

// begin resets what is counted for each answer.
func (e *engine) begin() { e.needed.checks, e.spare.checks, e.rounds = 0, 0, 0 }

// memoSize bounds each half of a memo: the signatures that a busy server meets again within minutes,
// in less than a megabyte.
const memoSize = 4096

// A memo remembers signatures that are right. Whether one is depends on nothing but the key, the data
// and the signature, so what it remembers is never out of date: expiry, the choice of keys and all
// the rest are examined each time. Its zero value is ready, and may be used by several goroutines.
type memo struct {
	mu                sync.Mutex
	previous, current map[[sha256.Size]byte]struct{}
}

var shared memo

func (m *memo) check(k *key, data, signature []byte) bool {
	sum := digestOf(k, data, signature)
	if m.knows(sum) {
		return true
	}
	if !k.public.verify(data, signature) {
		return false
	}
	m.remember(sum)
	return true
}

func (m *memo) knows(sum [sha256.Size]byte) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.current[sum]; ok {
		return true
	}
	_, ok := m.previous[sum]
	if ok {
		m.keep(sum)
	}
	return ok
}

func (m *memo) remember(sum [sha256.Size]byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.keep(sum)
}

// keep adds to the new half; when that is full it becomes the old one, and entries not requested since the last time
// are dropped. The memo is locked.
func (m *memo) keep(sum [sha256.Size]byte) {
	if m.current == nil || len(m.current) >= memoSize {
		m.previous, m.current = m.current, map[[sha256.Size]byte]struct{}{}
	}
	m.current[sum] = struct{}{}
}

// digestOf hashes all that the check depends on, with lengths so that nothing can be shifted.
func digestOf(k *key, data, signature []byte) [sha256.Size]byte {
	h := sha256.New()
	parts := [][]byte{{k.rr.Algorithm}, []byte(k.rr.PublicKey), signature, data}
	for _, p := range parts {
		var length [8]byte
		binary.BigEndian.PutUint64(length[:], uint64(len(p)))
		h.Write(length[:])
		h.Write(p)
	}
	return [sha256.Size]byte(h.Sum(nil))
}
