package smtpcheck

import (
	"slices"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/mailauth/smtp"
)

func (e *evidence) report(ended time.Time) *Report {
	_, known := e.mail.Receives()
	r := &Report{
		Verdict: rules().Judge(e, texts), MXFound: e.mail.MX.Exists(), NullMX: e.mail.NullMX(),
		ImplicitMX: e.mail.Implicit && known, Servers: []Server{}, Partial: e.partial(),
		Timing: diag.NewTiming(e.began, ended),
	}
	if e.byDomain() {
		r.Domain = e.req.Domain.String()
		if unicode := e.req.Domain.Unicode(); unicode != r.Domain {
			r.DomainUnicode = unicode
		}
	}
	for _, s := range e.servers {
		one := s.report()
		one.Findings = e.about(s, r.Findings)
		r.Servers = append(r.Servers, one)
		r.Summary.add(s)
	}
	return r
}

func (sum *Summary) add(s *server) {
	for count, is := range map[*int]bool{
		&sum.Servers: true, &sum.Reachable: s.answered(), &sum.TLS: s.tls != nil,
		&sum.Trusted:    s.tls != nil && s.tls.Trusted && (s.tls.HostnameMatch || s.byAddress()),
		&sum.OpenRelays: s.relay.status == RelayOpen,
	} {
		if is {
			*count++
		}
	}
}

func (s *server) report() Server {
	ip := s.addr.Addr()
	r := Server{
		Host: s.host, Preference: s.preference, Address: ip.String(), IPVersion: diag.IP{Addr: ip}.Version(),
		Port: int(s.addr.Port()), Reachable: s.answered(), Extensions: []Extension{}, Transcript: []Line{},
		Findings: []diag.Finding{},
		StartTLS: StartTLS{Advertised: s.offersTLS(), Negotiated: s.tls != nil && !s.implicitTLS()}, TLS: diag.OrZero(s.tls),
		Auth: Auth{
			BeforeTLS: len(s.before()) > 0, AfterTLS: len(s.after()) > 0,
			Mechanisms: union(s.before(), s.after()), PlaintextBeforeTLS: revealing(s.before()) != nil,
		},
		Relay: Relay{Tested: s.relay.tested, Status: s.relay.status, Reply: s.relay.reply},
		PTR: PTR{
			Hostnames: s.ptr.hosts, ForwardConfirmed: s.ptr.confirmed,
			MatchesBanner: s.bannerName() != "" && slices.Contains(s.ptr.hosts, s.bannerName()),
		},
	}
	if hello := s.hello(); hello.Reply.Code != 0 {
		r.ESMTP, r.EHLOOK = hello.Extended && hello.Reply.OK(), hello.Extended && hello.Reply.OK()
		r.Extensions = diag.Map(hello.Extensions, func(x smtp.Extension) Extension { return Extension{x.Name, x.Params} })
		if n, ok := s.size(); ok {
			r.SizeLimit = &n
		}
	}
	if s.tlsFault != nil && s.offersTLS() {
		r.StartTLS.Error = s.tlsFault.Error()
	}
	for _, err := range []*smtp.Error{s.err, s.tlsFault, s.again} {
		if err != nil && r.Error == "" && err.Kind != smtp.NotOffered {
			r.Error = err.Error()
		}
	}
	if s.session != nil {
		s.converse(&r)
	} else if r.Error == "" {
		r.Error = "there was no time left to test it"
	}
	return r
}

func (s *server) converse(r *Server) {
	ms := func(d time.Duration) *int64 { return new(d.Milliseconds()) }
	if s.session.Connected > 0 || s.session.Banner.Code != 0 {
		r.ConnectMS = ms(s.session.Connected)
	}
	if s.answered() {
		r.Banner, r.BannerMS = s.session.Banner.String(), ms(s.session.Greeted)
	}
	r.Transcript = diag.Map(s.session.Transcript, func(l smtp.Line) Line {
		return Line{l.At.Milliseconds(), Direction(l.From), l.Text}
	})
}

func union(a, b []string) []string {
	list := append([]string{}, a...)
	return append(list, slices.DeleteFunc(slices.Clone(b), func(s string) bool { return slices.Contains(a, s) })...)
}
