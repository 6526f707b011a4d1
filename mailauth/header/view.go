package header

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/view"
)

// View is what a person sees of the report.
func (r *AuditReport) View() *view.View {
	v := view.Of(r.Message.title(), r.Verdict)
	r.sender(v)
	r.recorded(v)
	r.way(v)
	return v
}

// View is what a person sees of the report: whether the message is authentic, and why.
func (r *AnalyzeReport) View() *view.View {
	v := view.Of(r.Message.title(), r.Verdict)
	v.Partial = r.Live.Partial
	authentic := cmp.Or(r.Conclusion.Authentic, notDecided)
	v.Fact("authentic", strings.Replace(string(authentic), "unknown", "not known", 1), "header.live.undecided")
	r.sender(v)
	l := &r.Live
	if !l.Performed {
		r.recorded(v)
		r.way(v)
		return v
	}
	v.Fact("sent by", l.server(r.Conclusion.SendingIP), "header.live.ptr", "header.live.blocklisted", "header.live.hop")
	if s := &l.SPF; s.Result != "" {
		v.Fact("spf", outcomeText(string(s.Result), s.Domain, &s.Aligned), "header.live.spf", "header.spf")
	}
	var results []string
	for _, s := range l.DKIM {
		results = append(results, outcomeText(string(s.Result.Result), s.Domain, &s.Aligned))
	}
	v.Fact("dkim", cmp.Or(diag.Series(results, maxTold), "not signed"), "header.live.dkim", "header.dkim")
	dmarc := "not known"
	if d := &l.DMARC; d.Result != "" {
		if dmarc = string(d.Result); d.Policy != "" {
			dmarc += fmt.Sprintf(", p=%s at %s", d.Policy, d.PolicyDomain)
		}
	}
	v.Fact("dmarc", dmarc, "header.live.dmarc", "header.dmarc", "header.live.author")
	r.way(v)
	return v
}

// maxTold bounds what a line names of a list.
const maxTold = 2

// title is what the message is called by.
func (s *Summary) title() string {
	return cmp.Or(diag.Clip(s.Subject, 100), s.MessageID, "message")
}

// sender adds the author, and the envelope sender where that is another.
func (f *Facts) sender(v *view.View) {
	from := cmp.Or(diag.Series(f.Message.From, maxTold), "nobody")
	if p := f.Message.ReturnPath; p != nil && *p != "" && !strings.Contains(from, *p) {
		from += ", bounces to " + *p
	}
	v.Fact("from", from, "header.from", "header.reply_to")
}

// recorded adds what the receiver noted of the authentication.
func (f *Facts) recorded(v *view.View) {
	a := &f.Authentication
	v.Fact("spf", creditedText(a.SPF, f.Alignment.SPFAligned), "header.spf")
	if len(f.DKIMSignatures)+len(a.DKIM) == 0 {
		v.Fact("dkim", "not signed", "header.dkim")
	} else {
		v.Fact("dkim", creditedText(a.DKIM, f.Alignment.DKIMAligned), "header.dkim", "header.alignment")
	}
	v.Fact("dmarc", creditedText(a.DMARC, nil), "header.dmarc", "header.authres")
}

// creditedText describes the results that count, or says that there are none.
func creditedText(list []AuthResult, aligned *bool) string {
	var texts []string
	for _, r := range list {
		if !r.Credible {
			continue
		}
		text := outcomeText(r.Result, r.Domain, nil)
		if r.Policy != "" {
			text += ", p=" + r.Policy
		}
		if !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
	}
	text := diag.Series(texts, maxTold)
	switch {
	case text == "" && len(list) > 0:
		return "noted by others than the receiver only, which proves nothing"
	case text == "":
		return "not noted by the receiver"
	case aligned != nil && !*aligned && strings.HasPrefix(text, "pass"):
		text += ": not for the domain in From"
	}
	return text
}

// outcomeText is a result, for which domain, and whether that is the author's.
func outcomeText(result, domain string, aligned *bool) string {
	if domain != "" {
		result += " for " + domain
	}
	if aligned != nil && !*aligned {
		result += " (not the domain in From)"
	}
	return result
}

// server is the address that delivered, with its name.
func (l *Live) server(ip string) string {
	for _, p := range l.PTR {
		switch {
		case p.IP != ip:
		case len(p.Confirmed) > 0:
			return ip + " " + p.Confirmed[0]
		case len(p.Hostnames) > 0:
			return ip + " " + p.Hostnames[0] + " (not confirmed)"
		}
	}
	return ip
}

// way adds the hops and what filters said.
func (f *Facts) way(v *view.View) {
	var filters []string
	for _, s := range f.SpamVerdicts {
		text := s.Vendor + " " + string(s.Verdict)
		if !slices.Contains(filters, text) {
			filters = append(filters, text)
		}
	}
	v.Fact("filters", diag.Series(filters, 3), "header.spam")
	if len(f.Hops) == 0 {
		return
	}
	text := diag.Count(len(f.Hops), "hop")
	if f.TotalDelay != nil {
		text += " in " + diag.Span(time.Duration(*f.TotalDelay)*time.Second)
	}
	v.Fact("way", text, "header.hop", "header.received")
	d := view.Drawing{Kind: view.Chain, Title: "Way of the message", Columns: []string{"server", "after", "tls"}}
	if first := f.Hops[0]; first.From != "" {
		d.Row(first.client())
	}
	for _, h := range f.Hops {
		mark, note := h.stands()
		d.Marked(mark, note, cmp.Or(h.By, "unknown server"), h.waited(), h.encryption())
	}
	v.Draw(d)
}

// slowHop is from when on a delay is remarkable, in seconds.
const slowHop = 300

// stands is what is remarkable about a hop.
func (h *Hop) stands() (view.Mark, string) {
	note := ""
	if h.Border {
		note = "enters the receiver's side"
	}
	switch {
	case h.Delay != nil && *h.Delay < 0:
		return view.Warning, strings.TrimPrefix(note+"; a clock is wrong", "; ")
	case h.Delay != nil && *h.Delay >= slowHop:
		return view.Warning, strings.TrimPrefix(note+"; slow", "; ")
	case h.TLS != nil && !*h.TLS && !h.PrivateIP:
		return view.Warning, note
	}
	return view.None, note
}

// client is who handed the message over.
func (h *Hop) client() string {
	text := cmp.Or(h.RDNS, h.HELO, h.From)
	if h.IP.IsValid() && !strings.Contains(text, h.IP.String()) {
		text = strings.TrimSpace(text + " " + h.IP.String())
	}
	return text
}

func (h *Hop) waited() string {
	switch {
	case h.Delay == nil:
		return ""
	case *h.Delay < 0:
		return "-" + diag.Span(time.Duration(-*h.Delay)*time.Second)
	}
	return diag.Span(time.Duration(*h.Delay) * time.Second)
}

func (h *Hop) encryption() string {
	switch {
	case h.TLSVersion != "":
		return h.TLSVersion
	case h.TLS == nil:
		return "not told"
	case *h.TLS:
		return "yes"
	}
	return "no"
}
