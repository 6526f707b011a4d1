package dnssec

import (
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/miekg/dns"
)

// A Checker judges the signatures of one zone, and its proofs that something is not there, by keys that are given. It
// asks nothing, and says of the same records what [Validator] and [Check] say. It belongs to one goroutine.
//
//	c := dnssec.NewChecker("example.com.", keys, env.Now())
//	reply := c.Read(msg)
//	result := reply.Records("www.example.com.", dns.TypeA)
//
// Whether the keys are those that the parent zone vouches for is for the caller to know, see [StandsFor].
type Checker struct {
	zone   name
	keys   []*key
	engine engine
}

// checkerLimits are those of an audit, which sees the answers of many servers: for each the limit of a
// validation, and the time of half a second for all.
var checkerLimits = limits{checks: maxSignatures, failures: 96, total: 1024}

// NewChecker returns a checker for a zone that has these keys, at a time. Keys that must not sign a zone are left out.
func NewChecker(zone string, keys []*dns.DNSKEY, now time.Time) *Checker {
	c := &Checker{engine: engine{now: now, memo: &shared, thorough: true, limits: checkerLimits}}
	c.zone, _ = parseName(zone)
	for _, rr := range keys[:min(len(keys), maxKeys)] {
		if k := newKey(rr); k.forZone() {
			c.keys = append(c.keys, k)
		}
	}
	return c
}

// A Reply is a message of a server of the zone, taken apart.
type Reply struct {
	c   *Checker
	msg *message
}

// Read takes a message apart.
func (c *Checker) Read(m *dns.Msg) Reply { return Reply{c, newMessage(m, nil)} }

// A Judgement is what is to say of the signatures over one set of records, or over a proof.
type Judgement struct {
	// Signatures are all that are over the records, each judged by itself: resolvers may pick any. At most 32.
	Signatures []Signature
	// Fault is why a validator refuses the records, or nil: one signature that is right is enough
	// (RFC 6840 section 5.11).
	Fault *ChainFault
	// Denial describes the proof that something is not there; nil if none was needed or found.
	Denial *Denial
}

// Checked reports whether a judgement was reached: it is false if the zone asks for more checks than
// any real one does.
func (j Judgement) Checked() bool { return j.Fault == nil || j.Fault.Code != codeWork }

// Records judges the records of a name and type in the answer section. It is false if there are none.
// Where a wildcard stood in for the name, the proof that it may is part of the judgement.
func (r Reply) Records(owner string, rrtype uint16) (Judgement, bool) {
	n, _ := parseName(owner)
	set := r.msg.answer[setKey{n, rrtype}]
	if set == nil {
		return Judgement{}, false
	}
	var j Judgement
	r.c.engine.begin()
	f, d := r.c.engine.checkSet(r.msg, set, r.c.zone, r.c.keys, &j.Signatures)
	j.conclude(f, d)
	return j, true
}

// Denial judges the proof that a name has no records of a type, or does not exist, whichever the message says.
func (r Reply) Denial(owner string, rrtype uint16) Judgement {
	n, _ := parseName(owner)
	var j Judgement
	r.c.engine.begin()
	f, d := r.c.engine.checkDenial(r.msg, n, rrtype, r.c.zone, r.c.keys, &j.Signatures)
	j.conclude(f, d)
	return j
}

func (j *Judgement) conclude(f statusCause, d *denials) {
	if f.status == diag.Bogus {
		j.Fault = f.why
	}
	if d == nil {
		return
	}
	for _, s := range d.log {
		if len(j.Signatures) < maxListed {
			j.Signatures = append(j.Signatures, s)
		}
	}
	if d.any() {
		j.Denial = d.facts(f.status != diag.Bogus)
	}
}

// ForZone reports whether a key may sign the records of its zone: it is a zone key of DNSSEC and not
// revoked (RFC 4034 section 2.1.1, RFC 5011 section 2.1).
func ForZone(k *dns.DNSKEY) bool { return (&key{rr: k}).forZone() }

// StandsFor reports whether a DS record is the digest of a key that may sign its zone.
func StandsFor(ds *dns.DS, k *dns.DNSKEY) bool {
	zone, ok := parseName(k.Hdr.Name)
	return ok && ForZone(k) && ds.KeyTag == k.KeyTag() && ds.Algorithm == k.Algorithm && digestFits(ds, k, zone)
}

// NewDS returns the DS record for a key, with the digest that RFC 9904 recommends (SHA-256). It is nil
// if the key cannot be read.
func NewDS(k *dns.DNSKEY) *dns.DS {
	ds := k.ToDS(dns.SHA256)
	if ds != nil {
		ds.Hdr.Name, ds.Digest = strings.ToLower(ds.Hdr.Name), strings.ToUpper(ds.Digest)
	}
	return ds
}
