package phishing

import (
	_ "embed" // texts.json
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/fetch"
)

// texts are the verdicts in words: by the code of the heaviest signal, or by outcome. {brand} is the
// brand that is imitated, {domain} its domain. To the sub is added what was examined and what was not.
var texts = sync.OnceValue(func() (all map[string]diag.Text) {
	if err := json.Unmarshal(textFile, &all); err != nil {
		panic(err) // the tests have seen to that
	}
	return all
})

//go:embed texts.json
var textFile []byte

func (e *evidence) text(r *Report) diag.Text {
	key := string(r.Verdict)
	switch r.Verdict {
	case Suspicious, Malicious:
		for _, s := range r.Signals {
			if _, ok := texts()[string(s.Code)]; ok {
				key = string(s.Code)
				break
			}
		}
	case Inconclusive:
		switch {
		case !e.visited:
			key += ".url" + e.cleanness(r)
		case e.served() && e.ambiguous(r):
			key += ".ambiguous"
		case e.served() && e.unseen(r):
			key += ".unseen"
		default:
			key += e.obstacle()
		}
	case Clean:
		key += e.cleanness(r)
	}
	brand, domain := e.brandIn(r, key)
	fill := strings.NewReplacer("{brand}", brand, "{domain}", domain, "{status}", e.status())
	t := texts()[key]
	return diag.Text{Headline: fill.Replace(t.Headline), Sub: fill.Replace(t.Sub) + " " + e.examined()}
}

// obstacle says why the page could not be examined.
func (e *evidence) obstacle() string {
	switch {
	case e.served() && len(e.ages) == 0:
		return ".unregistered"
	case e.served() && !slices.Contains(e.Unanswered(), sourceRegistration):
		return ".unconfirmed"
	case e.served():
		return ".registration"
	case e.answered() && e.site.Final().StatusCode >= http.StatusBadRequest:
		return ".status"
	case e.site == nil || e.site.Err == nil || e.site.Err.Unanswered:
		return ""
	case e.site.Err.Limit:
		return ".redirects.long"
	case e.site.Err.Code == fetch.DNS:
		return ".dns"
	case e.site.Err.Code == fetch.Blocked && e.site.Err.Step == fetch.Connecting:
		return ".blocked"
	case slices.Contains([]fetch.Reason{fetch.TooManyRedirects, fetch.Loop, fetch.Blocked}, e.site.Err.Code):
		if _, cookies := e.site.Looped(); len(cookies) > 0 {
			return ".redirects.cookie"
		}
		return ".redirects"
	}
	return ""
}

// cleanness says what little was found, and where.
func (e *evidence) cleanness(r *Report) string {
	switch {
	case len(r.Signals) > 0:
		return ".weak"
	case e.last().trusted() && e.trusted():
		return ".owner"
	}
	return ""
}

// status is that of the last answer, in digits.
func (e *evidence) status() string {
	if !e.answered() {
		return ""
	}
	return strconv.Itoa(e.site.Final().StatusCode)
}

// maxBrand bounds a brand's name in a headline, in characters.
const maxBrand = 22

func (e *evidence) brandIn(r *Report, key string) (name, domain string) {
	target := e.owner
	if m := e.imitation(); m != nil && strings.HasPrefix(key, "phishing.lookalike") {
		target = m.Target
	} else if strings.HasPrefix(key, "phishing.page.brand") {
		target = e.identity.brand
	}
	if target == nil {
		return "", ""
	}
	name = target.Name
	if runes := []rune(name); len(runes) > maxBrand {
		name = string(runes[:maxBrand-1]) + "…"
	}
	return name, target.Main()
}

// examined says what the verdict rests on.
func (e *evidence) examined() string {
	var done, not []string
	for _, p := range e.scope() {
		name, _, _ := strings.Cut(p.Part, " of ")
		list := &not
		if p.State == diag.Examined {
			list = &done
		}
		if !slices.Contains(*list, name) {
			*list = append(*list, name)
		}
	}
	s := "Examined: " + strings.Join(done, ", ")
	if len(not) > 0 {
		s += "; not examined: " + strings.Join(not, ", ")
	}
	return s + "."
}
