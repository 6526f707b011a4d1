package nameserver

import "github.com/miekg/dns"

// keepalive is how long an idle connection stays open, in the units of RFC 7828 section 3.1.
const keepalive = uint16(idleTimeout / (100 * 1e6))

func options(q *dns.Msg) (list []*dns.OPT) {
	for _, rr := range q.Extra {
		if opt, ok := rr.(*dns.OPT); ok {
			list = append(list, opt)
		}
	}
	return list
}

// faultyOPT is the code for a message whose OPT record cannot be obeyed.
func faultyOPT(q *dns.Msg) int {
	list := options(q)
	switch {
	case len(list) == 0:
		return dns.RcodeSuccess
	case len(list) > 1 || list[0].Hdr.Name != ".": // RFC 6891 sections 6.1.1, 6.1.2
		return dns.RcodeFormatError
	case list[0].Version() > 0: // RFC 6891 section 6.1.3
		return dns.RcodeBadVers
	case badCookie(list):
		return dns.RcodeFormatError
	}
	return dns.RcodeSuccess
}

// negotiate returns the OPT record of the reply, if the client sent one (RFC 6891 section 7), and how
// long the reply may be.
func negotiate(q *dns.Msg, datagram bool) (*dns.OPT, int) {
	limit := dns.MaxMsgSize
	if datagram {
		limit = minDatagram
	}
	list := options(q)
	if len(list) == 0 {
		return nil, limit
	}
	theirs := list[0]
	opt := &dns.OPT{Hdr: dns.RR_Header{Name: ".", Rrtype: dns.TypeOPT}}
	opt.SetUDPSize(maxDatagram)
	if theirs.Do() {
		opt.SetDo() // RFC 3225 section 3
	}
	if datagram {
		return opt, min(max(int(theirs.UDPSize()), minDatagram), maxDatagram) // RFC 6891 section 6.2.3
	}
	for _, o := range theirs.Option {
		if o.Option() == dns.EDNS0TCPKEEPALIVE { // RFC 7828 section 3.3.2
			opt.Option = append(opt.Option, &dns.EDNS0_TCP_KEEPALIVE{Code: dns.EDNS0TCPKEEPALIVE, Timeout: keepalive})
			break
		}
	}
	return opt, limit
}
