package decode

import (
	"encoding/json"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestParse(t *testing.T) {
	for _, tt := range []struct {
		text  string
		kind  ContentType
		want  string // JSON; empty: nothing
		fault string
	}{
		{"hello", Text, "", ""},
		{"", Text, "", ""},
		{"note: buy milk", Text, "", ""},
		{"Room:12", Text, "", ""},
		{"https://Example.COM:8443/a?b#c", URL, `{"scheme":"https","host":"example.com","port":"8443"}`, ""},
		{"https://bücher.example/", URL, `{"scheme":"https","host":"xn--bcher-kva.example","host_unicode":"bücher.example"}`, ""},
		{"www.example.com/a", URL, `{"scheme":"http","host":"www.example.com"}`, ""},
		{"ftp://example.com/x", URL, `{"scheme":"ftp","host":"example.com"}`, ""},
		{"URLTO:Home:https://example.com/", URL, `{"scheme":"https","host":"example.com"}`, ""},
		{"https:///path", URL, "", "names no host"},
		{"http://exa mple.com", Text, "", ""},
		{"http://[bad/", URL, "", "is not a URL that a browser can open"},
		{"data:text/html,<b>", URL, `{"scheme":"data"}`, ""},
		{"bitcoin:1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa", URL, `{"scheme":"bitcoin"}`, ""},
		{`WIFI:S:My\;Net;T:WPA;P:a\\b\:c;H:true;;`, WiFi, `{"ssid":"My;Net","security":"WPA","password":"a\\b:c","hidden":true}`, ""},
		{`wifi:T:SAE;S:"0123";P:x;;`, WiFi, `{"ssid":"0123","security":"WPA3","password":"x","hidden":false}`, ""},
		{"WIFI:S:Open;;", WiFi, `{"ssid":"Open","security":"nopass","hidden":false}`, ""},
		{"WIFI:T:WPA2-EAP;S:Corp;I:me;P:x;;", WiFi, `{"ssid":"Corp","security":"WPA2-EAP","password":"x","hidden":false,"identity":"me"}`, ""},
		{"WIFI:S:Net;T:WPA;;", WiFi, `{"ssid":"Net","security":"WPA","hidden":false}`, "has no password (P:) for a network that needs one"},
		{"WIFI:T:WPA;P:x;;", WiFi, "", "names no network (S:)"},
		{"BEGIN:VCARD\r\nVERSION:3.0\r\nN:Doe;Jane;;Dr.;\r\nFN:Dr. Jane Doe\r\nORG:Example\\, Inc.;Sales\r\nitem1.TEL;TYPE=work:+1 202 555 0123\r\n" +
			"EMAIL:jane@exam\r\n ple.com\r\nADR;TYPE=work:;;1 Main St;Town;ST;12345;US\r\nURL:https://example.com\r\nEND:VCARD\r\n", VCard,
			`{"name":"Dr. Jane Doe","organization":"Example, Inc., Sales","emails":["jane@example.com"],"numbers":["+1 202 555 0123"],` +
				`"urls":["https://example.com"],"addresses":["1 Main St, Town, ST, 12345, US"]}`, ""},
		{"BEGIN:VCARD\nVERSION:2.1\nN;CHARSET=UTF-8;ENCODING=QUOTED-PRINTABLE:M=C3=BCller;Anna\n" +
			"FN;CHARSET=UTF-8;ENCODING=QUOTED-PRINTABLE:Anna M=C3=BCller\nTEL;CELL:+4912345\nEND:VCARD", VCard,
			`{"name":"Anna Müller","numbers":["+4912345"]}`, ""},
		{"BEGIN:VCARD\r\nVERSION:2.1\r\nN;QUOTED-PRINTABLE;CHARSET=ISO-8859-1:M=FCller;Anna;;Dr.\r\n" +
			"ORG;ENCODING=QUOTED-PRINTABLE:B=E4cker=3B S=F6hne;Verkauf\r\n" +
			"ADR;HOME;ENCODING=QUOTED-PRINTABLE:;;Hauptstra=C3=9Fe 1;K=C3=B6=\r\nln;;50667;DE\r\nEND:VCARD", VCard,
			`{"name":"Dr. Anna Müller","organization":"Bäcker; Söhne, Verkauf","addresses":["Hauptstraße 1, Köln, 50667, DE"]}`, ""},
		{"BEGIN:VCARD\nVERSION:2.1\nFN;ENCODING=QUOTED-PRINTABLE;CHARSET=SHIFT_JIS:=8ER=93c\n" +
			"NOTE;ENCODING=QUOTED-PRINTABLE:one=0D=0A=\n  two =3D 3=ZZ\nPHOTO;JPEG;ENCODING=BASE64:\n /9j/4AAQSkZJRgABAQ==\n AA:AA\n\n" +
			"TITLE:Head of\n  sales\nEND:VCARD", VCard,
			`{"name":"山田","title":"Head of sales","note":"one\r\n  two = 3=ZZ"}`, ""},
		{"BEGIN:VCARD\nVERSION:3.0\nFN:Jane\\, Doe\nN:Doe\\;X;Jane,Ann;Bea,Eve;Dr.;MD\nNOTE:a\\nb\\\\c; d\n" +
			"TEL;TYPE=\"work:1,voice\":+1 202\nPHOTO;ENCODING=b;TYPE=JPEG:/9j/\n 4AAQ\nEND:VCARD", VCard,
			`{"name":"Jane, Doe","numbers":["+1 202"],"note":"a\nb\\c; d"}`, ""},
		{"BEGIN:VCARD\nVERSION:3.0\nN:Doe\\;X;Jane,Ann;Bea,Eve;Dr.;MD\nEND:VCARD", VCard, `{"name":"Dr. Jane Ann Bea Eve Doe;X MD"}`, ""},
		{"begin:vcard\nversion:4.0\nfn:Jane\nFN;LANGUAGE=de:Johanna\nTEL;VALUE=uri;TYPE=\"voice,home\":tel:+1-202-555-0123;ext=7\n" +
			"EMAIL:MAILTO:jane@exa\n mple.com\nADR;LABEL=\"1 Main St: left\":;;1 Main St\\; left;Town;;;\nend:vcard", VCard,
			`{"name":"Jane","emails":["jane@example.com"],"numbers":["+1-202-555-0123"],"addresses":["1 Main St; left, Town"]}`, ""},
		{"BEGIN:VCARD\nVERSION:2.1\nN:Doe;Jane\nAGENT:\nBEGIN:VCARD\nFN:Bob\nTEL:1\nEND:VCARD\nTEL:2\nEND:VCARD\nBEGIN:VCARD\nFN:Eve\nEND:VCARD",
			VCard, `{"name":"Jane Doe","numbers":["2"]}`, ""},
		{"BEGIN:VCARD\nFN;ENCODING=B:TcO8bGxlcg==\nFN:\nEND:VCARD", VCard, `{"name":"Müller"}`, ""},
		{`MECARD:N:Doe\, Jr.,Jane;ORG:A\;B\\C;URL:https\://example.com/;NOTE:a\,b;;`, VCard,
			`{"name":"Jane Doe, Jr.","organization":"A;B\\C","urls":["https://example.com/"],"note":"a,b"}`, ""},
		{"MECARD:N:Müller,Anna;TEL:1;TEL:2;URL:https://example.com/;;", VCard,
			`{"name":"Anna Müller","numbers":["1","2"],"urls":["https://example.com/"]}`, ""},
		{"BEGIN:VCARD\nN:Doe;Jane\n", VCard, `{"name":"Jane Doe"}`, "does not end with END:VCARD"},
		{"BEGIN:VCARD\nEND:VCARD", VCard, "", "has no name"},
		{"BEGIN:VEVENT\nEND:VEVENT", Text, "", ""},
		{"MECARD:N:Doe,Jane;TEL:+12025550123;EMAIL:jane@example.com;;", VCard, `{"name":"Jane Doe","emails":["jane@example.com"],"numbers":["+12025550123"]}`, ""},
		{"BIZCARD:N:Jane;X:Doe;T:CEO;C:Example;A:Town;B:+12025550123;E:jane@example.com;;", VCard,
			`{"name":"Jane Doe","organization":"Example","title":"CEO","emails":["jane@example.com"],"numbers":["+12025550123"],"addresses":["Town"]}`, ""},
		{"mailto:a@example.com,b@example.com?subject=Hi%20there&cc=c@example.com&body=1+1", Email,
			`{"emails":["a@example.com","b@example.com"],"cc":["c@example.com"],"subject":"Hi there","body":"1+1"}`, ""},
		{"mailto:?subject=x", Email, `{"subject":"x"}`, "names no recipient"},
		{"MATMSG:TO:a@example.com;SUB:Hi;BODY:text;;", Email, `{"emails":["a@example.com"],"subject":"Hi","body":"text"}`, ""},
		{"jane@example.com", Email, `{"emails":["jane@example.com"]}`, ""},
		{"tel:+1-202-555-0123;ext=7", Tel, `{"numbers":["+1-202-555-0123"]}`, ""},
		{"TEL:call me", Tel, "", "is not a telephone number"},
		{"sms:+12025550123?body=Hi%21", SMS, `{"numbers":["+12025550123"],"body":"Hi!"}`, ""},
		{"SMSTO:+12025550123:Hi: there", SMS, `{"numbers":["+12025550123"],"body":"Hi: there"}`, ""},
		{"sms:", SMS, "", "names no number"},
		{"geo:48.2010,16.3695,183;u=10?q=Vienna", Geo, `{"latitude":48.201,"longitude":16.3695,"query":"Vienna"}`, ""},
		{"geo:0,0", Geo, `{"latitude":0,"longitude":0}`, ""},
		{"geo:91,0", Geo, "", "needs a latitude from -90 to 90 and a longitude from -180 to 180"},
		{"geo:NaN,0", Geo, "", "needs a latitude from -90 to 90 and a longitude from -180 to 180"},
		{"geo:here", Geo, "", "needs a latitude and a longitude, separated by a comma"},
		{"otpauth://totp/Example:me@example.com?secret=gezd%20gnbv&digits=8&period=60&algorithm=SHA256", OTP,
			`{"otp_type":"totp","issuer":"Example","account":"me@example.com","secret":"GEZDGNBV","algorithm":"SHA256","digits":8,"period_seconds":60}`, ""},
		{"otpauth://hotp/me?secret=GEZDGNBV&counter=0", OTP, `{"otp_type":"hotp","account":"me","secret":"GEZDGNBV","algorithm":"SHA1","digits":6,"counter":0}`, ""},
		{"otpauth://hotp/me?secret=GEZDGNBV", OTP, `{"otp_type":"hotp","account":"me","secret":"GEZDGNBV","algorithm":"SHA1","digits":6}`, "has no counter, which hotp needs"},
		{"otpauth://totp/me?secret=1", OTP, `{"otp_type":"totp","account":"me","secret":"1","algorithm":"SHA1","digits":6,"period_seconds":30}`, "has no secret in Base32"},
		{"otpauth://x/me", OTP, "", "is neither totp nor hotp"},
		{"otpauth-migration://offline?data=x", OTP, `{"otp_type":"migration"}`, ""},
	} {
		t.Run(tt.text, func(t *testing.T) {
			kind, p, fault := parse(tt.text)
			assert.Equal(t, tt.kind, kind)
			assert.Equal(t, tt.fault, fault)
			if tt.want == "" {
				assert.Nil(t, p)
				return
			}
			got, err := json.Marshal(p)
			require.NoError(t, err)
			assert.JSONEq(t, tt.want, string(got))
		})
	}
}

// Whatever the text, there is a kind of the list, valid UTF-8 and no list beyond its bound; rules can judge it.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{link, "WIFI:S:a\\;b;T:WPA;P:c;;", "BEGIN:VCARD\nN:a;b\nEND:VCARD",
		"BEGIN:VCARD\nVERSION:2.1\nN;CHARSET=SHIFT_JIS;ENCODING=QUOTED-PRINTABLE:=8E=\nR;\\;=9\n  x\nEND:VCARD", "mailto:a@b?cc=c,d", "geo:1,2", "sms:1:2",
		"otpauth://totp/a:b?secret=AA", "MECARD:N:a,b;TEL:1;;", "https://a@\u0430.example", "tel:%ff"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if !utf8.ValidString(text) || len(text) > 8000 {
			return // texts of codes are valid
		}
		c := said(text)
		out, err := json.Marshal(c)
		require.NoError(t, err)
		require.True(t, utf8.Valid(out))
		require.Contains(t, ContentType("").Values(), string(c.ContentType))
		if p := c.Parsed; p != nil {
			for _, list := range [][]string{p.Emails, p.Numbers, p.URLs, p.Addresses, p.CC, p.BCC} {
				require.LessOrEqual(t, len(list), maxParts)
			}
		}
		e := of(c)
		e.report()
	})
}
