package header

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/view"
)

// View returns the report as shown to people.
func (r *AuditReport) View() *view.View {
	v := view.Of(r.Message.title(), r.Verdict, false)
	r.sender(v)
	r.recorded(v)
	r.addRoute(v)
	return v
}

// View returns the report as shown to people: whether the message is authentic, and why.
func (r *AnalyzeReport) View() *view.View {
	v := view.Of(r.Message.title(), r.Verdict, r.Live.Partial)
	authentic := cmp.Or(r.Conclusion.Authentic, NotDecided)
	v.Fact("authentic", strings.Replace(string(authentic), "unknown", "not known", 1), "header.live.undecided")
	r.sender(v)
	l := &r.Live
	if !l.Performed {
		r.recorded(v)
		r.addRoute(v)
		return v
	}
	v.Fact("sent by", l.server(r.Conclusion.SendingIP), "header.live.ptr", "header.live.blocklisted", "header.live.hop")
	if s := l.SPF; s.Result != "" {
		v.Fact("spf", outcomeText(string(s.Result), s.Domain, s.Aligned), "header.live.spf", "header.spf")
	}
	results := kit.Map(l.DKIM, func(s DKIMResult) string {
		open := view.TextIf(s.UnsignedBytes > 0,
			fmt.Sprintf(", %s of the body not signed", phrase.Count(s.UnsignedBytes, "byte")))
		return outcomeText(string(s.Result.Result), s.Domain, s.Aligned) + open
	})
	v.Fact("dkim", cmp.Or(phrase.Series(results, maxShownResults), "not signed"), "header.live.dkim", "header.dkim")
	d := l.DMARC
	v.Fact("dmarc", cmp.Or(view.TextIf(d.Result == "", "not known"), string(d.Result)+
		view.TextIf(d.Policy != "", fmt.Sprintf(", p=%s at %s", d.Policy, d.PolicyDomain))),
		"header.live.dmarc", "header.dmarc", "header.live.author")
	r.addRoute(v)
	return v
}

const maxShownResults = 2

func (s *Summary) title() string {
	return cmp.Or(phrase.Clip(s.Subject, 100), s.MessageID, "message")
}

func (f *Facts) sender(v *view.View) {
	from := cmp.Or(phrase.Series(f.Message.From, maxShownResults), "nobody")
	if p := f.Message.ReturnPath; p != nil && *p != "" && !strings.Contains(from, *p) {
		from += ", bounces to " + *p
	}
	v.Fact("from", from, "header.from", "header.reply_to")
}

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

func creditedText(list []AuthResult, aligned *bool) string {
	text := phrase.Series(view.Unique(view.Each(list, func(r AuthResult) string {
		return view.TextIf(r.Credible, outcomeText(r.Result, r.Domain, true)+view.TextIf(r.Policy != "", ", p="+r.Policy))
	})), maxShownResults)
	if text == "" {
		return cmp.Or(view.TextIf(len(list) > 0, "noted by others than the receiver only, which proves nothing"),
			"not noted by the receiver")
	}
	return text + view.TextIf(strings.HasPrefix(text, "pass"), view.Known(aligned, "", ": not for the domain in From", ""))
}

func outcomeText(result, domain string, aligned bool) string {
	return result + view.TextIf(domain != "", " for "+domain) + view.TextIf(!aligned, " (not the domain in From)")
}

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

func (f *Facts) addRoute(v *view.View) {
	filters := kit.Map(f.SpamVerdicts, func(s SpamVerdict) string { return s.Vendor + " " + string(s.Verdict) })
	v.Fact("filters", phrase.Series(view.Unique(filters), 3), "header.spam")
	if len(f.Hops) == 0 {
		return
	}
	text := phrase.Count(len(f.Hops), "hop")
	if f.TotalDelay != nil {
		text += " in " + view.Seconds(*f.TotalDelay)
	}
	v.Fact("way", text, "header.hop", "header.received")
	d := v.Rows(view.Chain, "Way of the message", "server", "after", "tls")
	if h := f.Hops[0]; h.From != "" {
		client := cmp.Or(h.RDNS, h.HELO, h.From)
		d.Row(client + view.TextIf(h.IP.IsValid() && !strings.Contains(client, h.IP.String()), " "+h.IP.String()))
	}
	for _, h := range f.Hops {
		d.StatusRow(h.status(), cmp.Or(h.By, "unknown server"), h.delayText(),
			cmp.Or(h.TLSVersion, view.Known(h.TLS, "yes", "no", "not told")))
	}
}

func (h *Hop) status() view.Standing {
	note := view.TextIf(h.Border, "enters the receiver's side")
	delay := time.Duration(kit.OrZero(h.Delay)) * time.Second
	return cmp.Or(
		view.MarkIf(delay <= -maxSkew, view.Warning, strings.TrimPrefix(note+"; a clock is wrong", "; ")),
		view.MarkIf(delay >= longDelay, view.Warning, strings.TrimPrefix(note+"; slow", "; ")),
		view.MarkIf(h.TLS != nil && !*h.TLS && !h.PrivateIP, view.Warning, note), view.Standing{Note: note})
}

func (h *Hop) delayText() string {
	switch {
	case h.Delay == nil:
		return ""
	case *h.Delay < 0:
		return "-" + view.Seconds(-*h.Delay)
	}
	return view.Seconds(*h.Delay)
}
