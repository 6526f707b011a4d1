package decode

import (
	"strings"

	"github.com/diagkit/diagkit/diag/idn"
)

// hostForms returns a host in ASCII, and in Unicode if that differs.
func hostForms(host string) (ascii, unicode string) {
	r, err := idn.Convert(idn.Request{Domain: host})
	if err != nil || r.ASCII == "" || !r.IsIDN {
		return host, ""
	}
	if r.Unicode != r.ASCII {
		unicode = r.Unicode
	}
	return r.ASCII, unicode
}

// lookalike returns what a host may be taken for: the plain label that one of its labels looks like, or how its scripts
// are mixed. Empty: nothing.
func lookalike(host string) string {
	if !strings.Contains(host, "xn--") {
		return ""
	}
	r, err := idn.Convert(idn.Request{Domain: host})
	if err != nil {
		return ""
	}
	for _, l := range r.Labels {
		switch {
		case l.ConfusableWith != "":
			return "looks like " + l.ConfusableWith
		case l.MixedScript:
			return "mixes the scripts " + strings.Join(l.Scripts, " and ")
		}
	}
	return ""
}

// shorteners are hosts whose links hide where they lead. They are those that the services themselves document,
// as of November 2026.
var shorteners = []string{"bit.ly", "bitly.com", "buff.ly", "cutt.ly", "dub.sh", "goo.gl", "is.gd", "j.mp", "lnkd.in",
	"ow.ly", "qr.ae", "qrco.de", "rb.gy", "rebrand.ly", "s.id", "shorturl.at", "t.co", "t.ly", "tiny.cc", "tinyurl.com",
	"v.gd", "youtu.be"}
