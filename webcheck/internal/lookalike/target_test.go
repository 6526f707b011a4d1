package lookalike

import (
	"strings"
	"testing"

	"github.com/diagkit/diagkit/diag"
	"github.com/stretchr/testify/require"
)

func TestParseFaults(t *testing.T) {
	for text, fault := range map[string]string{
		``:                                      "EOF",
		`[]`:                                    "cannot unmarshal",
		`{"targets": []}`:                       "1 to 5000",
		`{"targets": [null]}`:                   "is null",
		`{"date": "today", "targets": []}`:      "no date",
		`{"targets": [], "targets": []}`:        "appears twice",
		`{"targets": [], "x": 1}`:               "unknown field",
		`{"targets": []} {}`:                    "something follows",
		`{"targets": [{"name": "A"}]}`:          "domains",
		`{"targets": [{"domains": ["a.com"]}]}`: "name",
		`{"targets": [{"name": "A", "domains": ["-"]}]}`:                               "domains",
		`{"targets": [{"name": "A", "domains": ["a.com", "a.com"]}]}`:                  "appears twice",
		`{"targets": [{"name": "A", "domains": ["a.com"], "labels": ["ab"]}]}`:         "labels",
		`{"targets": [{"name": "A", "domains": ["a.com"], "labels": ["abc", "abc"]}]}`: "appears twice",
		`{"targets": [{"name": "A", "domains": ["a.com"], "labels": ["A-B"]}]}`:        "labels",
	} {
		_, err := Parse([]byte(text))
		require.ErrorContains(t, err, fault, text)
	}
	own, err := Parse([]byte(`{"targets": [{"name": "Acme", "domains": ["acme.example"], "labels": ["acme"]}]}`))
	require.NoError(t, err)
	require.Equal(t, "Acme", own.Find(diag.MustDomain("acme-login.com")).Target.Name)
	require.Nil(t, own.Find(diag.MustDomain("paypal-login.com")))
}

func TestFind(t *testing.T) {
	for host, want := range map[string]string{ // brand, technique, kind
		"paypa1.com":                          "PayPal homoglyph looks like",
		"rnicrosoft.com":                      "Microsoft homoglyph looks like",
		"vvhatsapp.com":                       "WhatsApp homoglyph looks like",
		"xn--80ak6aa92e.com":                  "Apple homoglyph looks like",
		"pay-pal.com":                         "PayPal typo is, without its hyphens,",
		"payppal.com":                         "PayPal typo doubles a letter of",
		"papyal.com":                          "PayPal typo swaps two letters of",
		"paypl.com":                           "PayPal typo leaves out a letter of",
		"microsoft.xyz":                       "Microsoft typo has another top-level domain than",
		"secure-paypal.com":                   "PayPal combo combines other words with",
		"paypallogin.com":                     "PayPal combo combines other words with",
		"face.book.com":                       "Facebook subdomain is, without its dots,",
		"paypal.com.evil.example":             "PayPal subdomain puts under another domain",
		"www.appleid.apple.com-login.example": "Apple subdomain combines other words with",
		"signin-ebay.example.net":             "eBay subdomain combines other words with",
	} {
		m := BuiltIn().Find(diag.MustDomain(host))
		require.NotNil(t, m, host)
		require.Equal(t, want, m.Target.Name+" "+string(m.Technique)+" "+string(m.Kind), host)
	}
	for _, host := range []string{"paypal.com", "www.paypal.com", "google.co.uk", "amazon.de", "apply.com", "email.com",
		"example.com", "com", "pineapple.com", "techtarget.com", "github.io", "team.com", "stream.com"} {
		require.Nil(t, BuiltIn().Find(diag.MustDomain(host)), host)
	}
	require.NotNil(t, BuiltIn().Find(diag.MustDomain("paypal-login.github.io")), "the pages of others")
}

func TestOneEdit(t *testing.T) {
	for _, tt := range []struct {
		s, t string
		want edit
	}{
		{"paypl", "paypal", omission}, {"paypall", "paypal", repetition}, {"ppaypal", "paypal", repetition},
		{"paypalx", "paypal", insertion}, {"xpaypal", "paypal", insertion}, {"apypal", "paypal", transposition},
		{"paypat", "paypal", substitution}, {"paypal", "paypal", noEdit}, {"abc", "xyz", noEdit}, {"", "a", omission},
		{"a", "", insertion}, {"ab", "ba", transposition}, {"abcd", "badc", noEdit},
	} {
		require.Equal(t, tt.want, oneEdit(tt.s, tt.t), "%s of %s", tt.s, tt.t)
	}
}

func TestDistance(t *testing.T) {
	for host, want := range map[string]int{
		"paypa1.com": 1, "rnicrosoft.com": 2, "arnazon.com": 2, "payapl.com": 1, "pay-pal.com": 1, "paypal-login.com": 0,
		"xn--80ak6aa92e.com": 5, "microsoft.xyz": 0,
	} {
		require.Equal(t, want, BuiltIn().Find(diag.MustDomain(host)).Distance, host)
	}
}

func TestNaming(t *testing.T) {
	for _, tt := range []struct {
		text, brand string
		claimed     bool
	}{
		{"PayPal", "PayPal", true}, {"PayPal: Log in", "PayPal", true}, {"Log in to your PayPal account", "PayPal", true},
		{"Anmelden - PayPal", "PayPal", true}, {"Connectez | Votre compte PayPal", "PayPal", true},
		{"PayPal 2026 secure verification", "PayPal", true}, {"PayPal warns of phishing", "PayPal", false},
		{"How to close a PayPal account with ease", "", false}, {"Sign in with PayPal", "", false},
		{"Pay with PayPal | My Shop", "", false}, {"Mit Google anmelden", "", false}, {"Googleでログイン", "", false},
		{"Amazonログイン", "Amazon", true}, {"支付宝 登录", "Alipay", true}, {"登录支付宝", "Alipay", true},
		{"СберБанк Онлайн – вход", "Sberbank", true}, {"e-Devlet Kapısı Giriş", "e-Devlet", true},
		{"Office 365 Login", "Microsoft", true}, {"Microsoft OneDrive", "Microsoft", true}, {"Apple ID", "Apple", true},
		{"Mi\u200bcros\u200boft", "Microsoft", true}, {"Ｍicrosoft | Sign in", "Microsoft", true},
		{"Раураl: log in", "PayPal", true}, {"Sign in - chase.com", "Chase", true}, {"Sign in - Chase", "Chase", true},
		{"The chase is on", "", false}, {"Bank of America | Login", "Bank of America", true}, {"An apple a day", "", false},
		{"GOV.UK", "HMRC", true}, {"Crédit Agricole", "Crédit Agricole", true}, {"", "", false}, {"Hello", "", false},
	} {
		n, got := BuiltIn().Naming(tt.text), ""
		if n.Target != nil {
			got = n.Target.Name
		}
		require.Equal(t, tt.brand, got, tt.text)
		require.Equal(t, tt.claimed, n.Claimed, tt.text)
	}
	require.True(t, BuiltIn().Naming("Target – Sign in").Ordinary)
	require.False(t, BuiltIn().Naming("Sign in to iCloud").Ordinary)
	n := BuiltIn().Naming("Netflix erhöht Preise | Filmforum")
	require.Equal(t, []string{"erhoht", "preise"}, n.Beside)
	require.Equal(t, []string{"filmforum"}, n.Own)
	require.True(t, Generic("Log in to your account"))
	require.True(t, Generic("アカウントにサインイン"))
	require.False(t, Generic("Tea House"))
}

func FuzzNaming(f *testing.F) {
	f.Add("Log in to your PayPal account – 登录 支付宝")
	f.Fuzz(func(t *testing.T, text string) {
		n := BuiltIn().Naming(text)
		if n.Claimed && n.Target == nil || n.Claimed && len(n.Beside) > 0 {
			t.Fatalf("%q: %+v", text, n)
		}
	})
}

func FuzzFind(f *testing.F) {
	f.Add("paypa1.com")
	f.Add("xn--80ak6aa92e.com")
	f.Fuzz(func(t *testing.T, host string) {
		d, err := diag.ParseDomain(host)
		if err != nil {
			return
		}
		m := BuiltIn().Find(d)
		if m == nil {
			return
		}
		if m.Target == nil || m.Label == "" || m.Part == "" || m.Technique == "" || m.Kind == "" || m.Strength < Weak || m.Distance < 0 {
			t.Fatalf("%s: %+v", host, m)
		}
		if o := BuiltIn().Owner(d.String()); o != nil {
			t.Fatalf("%s belongs to %s and imitates %s", host, o.Name, m.Target.Name)
		}
	})
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"targets": [{"name": "Acme", "domains": ["acme.example"], "labels": ["acme"]}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		table, err := Parse(data)
		if (err == nil) == (table == nil) {
			t.Fatal("neither or both of an error and a table")
		}
		if table != nil {
			table.Find(diag.MustDomain("acme-login." + strings.Repeat("a", 20) + ".example"))
		}
	})
}
