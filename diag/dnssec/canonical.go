package dnssec

import (
	"bytes"
	"encoding/binary"
	"slices"

	"github.com/miekg/dns"
)

// maxData bounds the data of one set of records: what a message can hold.
const maxData = dns.MaxMsgSize

// canonical returns the data of the records in canonical form and order, without duplicates (RFC 4034 sections 6.2 and
// 6.3). It is nil if a record cannot be written, as those made up by a resolver of the user's own may be.
func (s *rrset) canonical() [][]byte {
	if s.data != nil {
		return s.data
	}
	data, total := make([][]byte, 0, len(s.rrs)), 0
	for _, rr := range s.rrs {
		d, ok := rdata(lowered(rr))
		if total += len(d); !ok || total > maxData {
			return nil
		}
		data = append(data, d)
	}
	slices.SortFunc(data, bytes.Compare)
	s.data = slices.CompactFunc(data, bytes.Equal)
	return s.data
}

// rdata packs a record without compression and returns its data.
func rdata(rr dns.RR) ([]byte, bool) {
	buf := make([]byte, dns.Len(rr)+maxWire) // escapes make names look longer, never shorter
	end, err := dns.PackRR(rr, buf, 0, nil, false)
	if err != nil {
		return nil, false
	}
	start := 0
	for buf[start] != 0 {
		start += 1 + int(buf[start])
	}
	return buf[start+11 : end], true // root label, type, class, time to live, length
}

// lowered returns a record with the names in its data in lower case. That is done for the types that RFC 4034 section
// 6.2 lists, without those that RFC 6840 section 5.1 takes off that list; the others are returned as they are.
func lowered(rr dns.RR) dns.RR {
	switch rr.(type) {
	case *dns.NS, *dns.MD, *dns.MF, *dns.CNAME, *dns.SOA, *dns.MB, *dns.MG, *dns.MR, *dns.PTR, *dns.MINFO,
		*dns.MX, *dns.RP, *dns.AFSDB, *dns.RT, *dns.PX, *dns.NAPTR, *dns.KX, *dns.SRV, *dns.DNAME, *dns.SIG, *dns.NXT:
		rr = dns.Copy(rr)
	default:
		return rr
	}
	switch r := rr.(type) {
	case *dns.NS:
		lower(&r.Ns)
	case *dns.MD:
		lower(&r.Md)
	case *dns.MF:
		lower(&r.Mf)
	case *dns.CNAME:
		lower(&r.Target)
	case *dns.SOA:
		lower(&r.Ns, &r.Mbox)
	case *dns.MB:
		lower(&r.Mb)
	case *dns.MG:
		lower(&r.Mg)
	case *dns.MR:
		lower(&r.Mr)
	case *dns.PTR:
		lower(&r.Ptr)
	case *dns.MINFO:
		lower(&r.Rmail, &r.Email)
	case *dns.MX:
		lower(&r.Mx)
	default:
		lowerRare(rr)
	}
	return rr
}

func lowerRare(rr dns.RR) {
	switch r := rr.(type) {
	case *dns.RP:
		lower(&r.Mbox, &r.Txt)
	case *dns.AFSDB:
		lower(&r.Hostname)
	case *dns.RT:
		lower(&r.Host)
	case *dns.PX:
		lower(&r.Map822, &r.Mapx400)
	case *dns.NAPTR:
		lower(&r.Replacement)
	case *dns.KX:
		lower(&r.Exchanger)
	case *dns.SRV:
		lower(&r.Target)
	case *dns.DNAME:
		lower(&r.Target)
	case *dns.SIG:
		lower(&r.SignerName)
	case *dns.NXT:
		lower(&r.NextDomain)
	}
}

func lower(names ...*string) {
	for _, n := range names {
		*n = dns.CanonicalName(*n)
	}
}

// signedData returns what a signature is made over: its own data without the signature, and every
// record with the owner, the class and the original time to live (RFC 4034 section 3.1.8.1). The
// owner of records that a wildcard stood in for is that wildcard (RFC 4035 section 5.3.2).
func signedData(sig *dns.RRSIG, signer name, set *rrset) []byte {
	data := set.canonical()
	owner := set.owner
	if int(sig.Labels) < owner.signedLabels() {
		owner = owner.ancestor(int(sig.Labels)).wildcard()
	}
	if data == nil || owner == "" {
		return nil
	}
	size := 18 + len(signer)
	for _, d := range data {
		size += len(owner) + 10 + len(d)
	}
	b := make([]byte, 0, size)
	b = binary.BigEndian.AppendUint16(b, sig.TypeCovered)
	b = append(b, sig.Algorithm, sig.Labels)
	b = binary.BigEndian.AppendUint32(b, sig.OrigTtl)
	b = binary.BigEndian.AppendUint32(b, sig.Expiration)
	b = binary.BigEndian.AppendUint32(b, sig.Inception)
	b = binary.BigEndian.AppendUint16(b, sig.KeyTag)
	b = append(b, signer...)
	for _, d := range data {
		b = append(b, owner...)
		b = binary.BigEndian.AppendUint16(b, set.rrtype)
		b = binary.BigEndian.AppendUint16(b, dns.ClassINET)
		b = binary.BigEndian.AppendUint32(b, sig.OrigTtl)
		b = binary.BigEndian.AppendUint16(b, uint16(len(d)))
		b = append(b, d...)
	}
	return b
}
