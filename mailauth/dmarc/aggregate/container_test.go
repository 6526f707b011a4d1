package aggregate

import (
	"archive/tar"
	"bytes"
	"encoding/base64"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/text/encoding/unicode"
)

// mail returns a message with an attachment.
func mail(media, encoding, body string) string {
	return "Received: from a\r\n by b\r\nFrom: dmarc@receiver.example\r\nSubject: Report Domain: example.com\r\n" +
		"MIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=\"b\"\r\n\r\n--b\r\n\r\n" +
		"This is a report: see the file.\r\n" +
		"--b\r\nContent-Type: " + media + "\r\nContent-Disposition: attachment; filename=\"r.xml.gz\"\r\n" +
		"Content-Transfer-Encoding: " + encoding + "\r\n\r\n" + body + "\r\n--b--\r\n"
}

func lines64(data []byte) string {
	text := base64.StdEncoding.EncodeToString(data)
	var b strings.Builder
	for len(text) > 76 {
		b.WriteString(text[:76] + "\r\n")
		text = text[76:]
	}
	return b.String() + text
}

func utf16le(text string) string {
	encoded, err := unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewEncoder().String(text)
	if err != nil {
		panic(err)
	}
	return encoded
}

// What a report is wrapped in decides its content.
func TestContainers(t *testing.T) {
	gz, zip := string(gzipped(reportXML)), string(zipped("r.xml", reportXML))
	for _, tt := range []struct {
		name, file string
		want       []Container
		inside     string // name of the file
		faults     []string
	}{
		{"xml", reportXML, nil, "", nil},
		{"gzip", gz, []Container{Gzip}, "", nil},
		{"zip", zip, []Container{Zip}, "r.xml", nil},
		{"gzip of zip", string(gzipped(zip)), []Container{Gzip, Zip}, "r.xml", nil},
		{"zip of gzip", string(zipped("r.xml.gz", gz)), []Container{Zip, Gzip}, "r.xml", nil},
		{"zip of zip", string(zipped("a.zip", zip)), []Container{Zip, Zip}, "r.xml", nil},
		{"gzip of gzip", string(gzipped(gz)), []Container{Gzip, Gzip}, "", nil},
		{"zip with other files", string(zipped("__MACOSX/r.xml", "x", "dir/", "", "read.me", "A report.",
			"b/r.xml", reportXML)),
			[]Container{Zip}, "r.xml", nil},
		{"gzip with zeros behind", gz + "\x00\x00\x00", []Container{Gzip}, "", nil},
		{"gzip in members", string(gzipped(reportXML[:99])) + string(gzipped(reportXML[99:])), []Container{Gzip}, "", nil},
		{"gzip that ends too early", gz[:len(gz)-6], []Container{Gzip}, "", []string{"damaged"}},
		{"gzip with a wrong check sum", gz[:len(gz)-8] + "xxxx" + gz[len(gz)-4:], []Container{Gzip}, "",
			[]string{"damaged"}},
		{"zip without directory", zip[:strings.Index(zip, "PK\x01\x02")], []Container{Zip}, "r.xml", []string{"damaged"}},
		{"mail, gzip", mail("application/gzip", "base64", lines64([]byte(gz))), []Container{Message, Gzip}, "r.xml", nil},
		{"mail, zip under another type", mail("application/octet-stream", "BASE64", lines64([]byte(zip))),
			[]Container{Message, Zip}, "r.xml", nil},
		{"mail, xml", mail("text/xml; charset=utf-8", "7bit", reportXML), []Container{Message}, "r.xml.gz", nil},
		{"mail, quoted-printable", mail("application/xml", "quoted-printable", strings.ReplaceAll(reportXML, "><",
			">=\r\n<")),
			[]Container{Message}, "r.xml.gz", nil},
		{"mail that is the report",
			"From: a\r\nContent-Type: application/gzip; name=a.gz\r\nContent-Transfer-Encoding: base64\r\n\r\n" +
				lines64([]byte(gz)), []Container{Message, Gzip}, "a", nil},
		{"mail box",
			"From dmarc@receiver.example Sat Oct 31\nFrom: a\nContent-Transfer-Encoding: base64\n\n" + lines64([]byte(gz)),
			[]Container{Message, Gzip}, "", nil},
		{"forwarded mail", "From: b\nContent-Type: multipart/mixed; boundary=x\n\n--x\nContent-Type: message/rfc822\n\n" +
			mail("application/zip", "base64", lines64([]byte(zip))) + "\n--x--\n", []Container{Message, Message, Zip},
			"r.xml", nil},
		{"mail in zip", string(zipped("a.eml", mail("application/gzip", "base64", lines64([]byte(gz))))),
			[]Container{Zip, Message, Gzip}, "r.xml", nil},
		{"base64", lines64([]byte(gz)), []Container{Base64, Gzip}, "", nil},
		{"base64 of xml", lines64([]byte(reportXML)), []Container{Base64}, "", nil},
		{"UTF-16", utf16le(`<?xml version="1.0" encoding="UTF-16"?>` + reportXML), nil, "", nil},
		{"UTF-16 without mark", strings.TrimPrefix(utf16le(reportXML), "\xff\xfe"), nil, "", nil},
		{"UTF-16 in gzip", string(gzipped(utf16le(reportXML))), []Container{Gzip}, "", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r, records, err := read(t, []byte(tt.file))
			require.NoError(t, err)
			require.Equal(t, good1, summary(records))
			require.Equal(t, tt.want, r.Container)
			require.Equal(t, tt.inside, r.Name)
			require.Equal(t, append([]string{}, tt.faults...), kinds(r))
		})
	}
}

// mailbox puts messages into one file, as mail programs export a folder.
func mailbox(messages ...string) string {
	var b strings.Builder
	for _, m := range messages {
		b.WriteString("From dmarc@receiver.example Sat Oct 31 12:00:00 2026\n" + m + "\n")
	}
	return b.String()
}

func tarred(files ...string) []byte {
	var b bytes.Buffer
	z := tar.NewWriter(&b)
	for i := 0; i < len(files); i += 2 {
		_ = z.WriteHeader(&tar.Header{Name: files[i], Mode: 0o600, Size: int64(len(files[i+1]))})
		_, _ = z.Write([]byte(files[i+1]))
	}
	_ = z.Close()
	return b.Bytes()
}

// All reports of a file are read, whatever else it holds, and files that cannot be opened are reported.
func TestReadSeveral(t *testing.T) {
	gz := string(gzipped(reportXML))
	packed := mail("application/gzip", "base64", lines64([]byte(gz)))
	zipFile, tarGzip := string(zipped("1.xml", reportXML)), string(gzipped(string(tarred("1.xml", reportXML))))
	const declared = `<?xml version="1.0" encoding="UTF-8"?>`
	for _, tt := range []struct {
		name, file, reports, unread string
	}{
		{"zip", string(zipped("1.xml", reportXML, "read.me", "Text.", "d/2.xml.gz", gz)), "1.xml 2.xml", ""},
		{"tar", string(tarred("d/1.xml", reportXML, "._1.xml", "x", "d/2.zip", string(zipped("3.xml", reportXML)))), "1.xml 3.xml", ""},
		{"tar in gzip", string(gzipped(string(tarred("1.xml", reportXML, "2.xml.gz", gz)))), "1.xml 2.xml", ""},
		{"tar that ends too early", string(tarred("1.xml", reportXML, "2.xml", reportXML))[:2000], "1.xml", ""},
		{"mail box", mailbox(packed, strings.ReplaceAll(packed, "see the file", "\r\nFrom now on\r\nsee the file"), packed), "r.xml r.xml r.xml", ""},
		{"mail box in zip", string(zipped("rua.mbox", mailbox(packed, packed))), "r.xml r.xml", ""},
		{"a file that is broken", string(zipped("1.xml", reportXML, "2.gz", "\x1f\x8bxxxxxxxxxxxxx", "3.xz", "\xfd7zXZ\x00x")), "1.xml", "2.gz 3.xz"},
		{"messages in a message", mail("message/rfc822", "7bit", packed), "r.xml", ""},
		{"XML behind XML", declared + reportXML + "\n" + declared + reportXML + reportXML + "\n<!-- end -->\n", "  ", ""},
		{"XML with marks", "\ufeff" + reportXML + "\ufeff" + reportXML, " ", ""},
		{"XML in an element", "<reports>" + reportXML + declared + reportXML + "</reports>", " ", ""},
		{"XML without roots", metadataXML + policyXML + recordXML + metadataXML + policyXML + recordXML, " ", ""},
		{"XML behind XML that ends too early", begin + recordXML + "<record><row>" + reportXML, " ", ""},
		{"XML behind an extension that is open", begin + recordXML + "<extensions><extension name='a'><b>" + declared + reportXML, " ", ""},
		{"XML without a root behind XML", reportXML + metadataXML + policyXML + recordXML, " ", ""},
		{"UTF-16 behind UTF-16", utf16le(reportXML) + utf16le(reportXML), " ", ""},
		{"UTF-16 behind UTF-8", reportXML + utf16le(reportXML), "", "what follows the XML in the file"},
		{"gzip behind XML", reportXML + gz, "", "what follows the XML in the file"},
		{"XML that begins behind XML", reportXML + "\n<feedb", "", "what follows the XML in the file"},
		{"other XML behind XML", reportXML + "<svg>x</svg>" + reportXML, " ", ""},
		{"gzip members", gz + gz + string(gzipped(reportXML+declared+reportXML)), "   ", ""},
		{"gzip of members", string(gzipped(gz + gz)), " ", ""},
		{"XML behind gzip", gz + "\n" + reportXML, " ", ""},
		{"zip behind gzip behind zip", zipFile + gz + "\n" + zipFile, "1.xml  1.xml", ""},
		{"zip behind zip", zipFile + zipFile + zipFile, "1.xml 1.xml 1.xml", ""},
		{"zip of zip behind zip", string(zipped("a.zip", zipFile)) + zipFile, "1.xml 1.xml", ""},
		{"zip behind half a zip", zipFile[:strings.Index(zipFile, "PK\x01\x02")] + zipFile, "1.xml", "the beginning of the archive"},
		{"tar behind tar", string(tarred("1.xml", reportXML)) + string(tarred("2.xml", reportXML+reportXML)), "1.xml 2.xml 2.xml", ""},
		{"tar in gzip, twice", tarGzip + tarGzip, "1.xml 1.xml", ""},
		{"base64 behind base64", lines64([]byte(gz)) + "\n" + lines64([]byte(gz)), " ", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			records := map[int]int{}
			f, err := Read([]byte(tt.file), func(r *Record) error { records[r.Report]++; return nil })
			require.NoError(t, err)
			var names []string
			for i, r := range f.Reports {
				names = append(names, r.Name)
				require.Equal(t, r.Read, records[i])
				require.EqualValues(t, 10*r.Read, r.Messages)
			}
			require.Equal(t, tt.reports, strings.Join(names, " "))
			require.Equal(t, tt.unread, strings.Join(f.Unread, " "))
		})
	}
}

func TestHolds(t *testing.T) {
	for file, want := range map[string]bool{reportXML: true, begin + end: true, string(zipped("a.xml", reportXML)): true,
		"": false, "<svg/>": false, string(zipped("a.xml", "<svg/>")): false} {
		require.Equal(t, want, IsReport([]byte(file)), file)
	}
}

// A report is whole once its root is closed, whatever is open around it.
func TestReadWithinUnclosedElement(t *testing.T) {
	r, records, err := read(t, []byte(`<?xml version="1.0"?><xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema">`+reportXML))
	require.NoError(t, err)
	require.Equal(t, good1, summary(records))
	require.False(t, r.Truncated)
	require.Contains(t, strings.Join(kinds(r), " "), "malformed")
}

// Files that are not reports are recognized.
func TestNotReport(t *testing.T) {
	tls := `{"organization-name":"Receiver","date-range":{"start-datetime":"2026-10-31T00:00:00Z"},` +
		`"report-id":"1","policies":[]}`
	failure := "Feedback-Type: auth-failure\r\nUser-Agent: x/1\r\nVersion: 1\r\n"
	encrypted := zipped("secret.xml", reportXML)
	for i, field := range map[int][]byte{6: zipLocal, 8: zipCentral} {
		encrypted[bytes.Index(encrypted, field)+i] |= 1
	}
	other := zipped("a.xml", reportXML)
	for i, field := range map[int][]byte{8: zipLocal, 10: zipCentral} {
		other[bytes.Index(other, field)+i] = 14
	}
	for _, tt := range []struct {
		name, file string
		want       content
		detail     string
	}{
		{"nothing", "", contentEmpty, ""},
		{"blanks", " \r\n\t", contentEmpty, ""},
		{"TLS report", tls, contentTLSReport, ""},
		{"TLS report in gzip", string(gzipped(tls)), contentTLSReport, ""},
		{"TLS report in mail", mail("application/tlsrpt+gzip", "base64", lines64(gzipped(tls))), contentTLSReport, ""},
		{"JSON", `{"a":1}`, contentJSON, ""},
		{"failure report",
			"From: a\r\nContent-Type: multipart/report; report-type=feedback-report; boundary=b\r\n\r\n--b\r\n\r\n" +
				"Text\r\n--b\r\nContent-Type: message/feedback-report\r\n\r\n" + failure + "\r\n--b--\r\n", contentFailure, ""},
		{"body of a failure report", failure, contentFailure, ""},
		{"complaint", "Feedback-Type: abuse\r\n", contentOtherReport, "abuse"},
		{"web page", "<!DOCTYPE html>\n<html><body><p>Sign in<br></body></html>", contentHTML, ""},
		{"other XML", `<?xml version="1.0"?><svg><p>x</p></svg>`, contentXML, "svg"},
		{"other XML with records", `<list><record><name>x</name></record></list>`, contentXML, "list"},
		{"DMARC record", `"v=DMARC1; p=none"`, contentRecord, `"v=DMARC1; p=none"`},
		{"table", "source_ip,count,dkim\n192.0.2.1,2,pass\n", contentCSV, ""},
		{"mail",
			"From: a\r\nContent-Type: multipart/alternative; boundary=b\r\n\r\n--b\r\n\r\nText\r\n" +
				"--b\r\nContent-Type: text/html\r\n\r\n" +
				"<html>Text</html>\r\n--b--\r\n", contentMessage, "text/plain, text/html"},
		{"zip with other files", string(zipped("a.txt", "Text", "b.png", "\x89PNG\r\n\x1a\n")), contentArchive,
			"a.txt, b.png"},
		{"zip with one other file", string(zipped("a.html", "<html></html>")), contentHTML, ""},
		{"zip without files", string(zipped()), contentNoFiles, ""},
		{"zip with a folder", string(zipped("a/", "")), contentNoFiles, ""},
		{"encrypted zip", string(encrypted), contentEncrypted, "secret.xml"},
		{"zip by another method", string(other), contentUnsupported, "zip method LZMA"},
		{"beginning of a zip", "PK\x03\x04\x14\x00", contentBroken, ""},
		{"beginning of a gzip", "\x1f\x8b\x08", contentBroken, ""},
		{"broken gzip", string(gzipped(reportXML)[:14]) + "\xff\xff\xff\xff", contentBroken, ""},
		{"7-Zip", "7z\xbc\xaf\x27\x1c\x00\x04", contentUnsupported, "7-Zip"},
		{"PDF", "%PDF-1.7\n", contentBinary, "PDF"},
		{"bytes", "\x00\x01\x02\x03", contentBinary, ""},
		{"text", "Please find the report attached.", contentText, ""},
		{"text with a less-than sign", "<3", contentText, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r, records, err := read(t, []byte(tt.file))
			require.Nil(t, r)
			require.Empty(t, records)
			found, ok := errors.AsType[*notReportError](err)
			require.True(t, ok, "%v", err)
			require.Equal(t, tt.want, found.Content)
			require.Equal(t, tt.detail, found.Detail)
		})
	}
	_, err := Read(make([]byte, MaxSent+1), nil)
	require.Equal(t, &LimitError{"size", MaxSent}, err)
}

// Names in archives are shown, whatever they are.
func TestNames(t *testing.T) {
	f, err := Read(zipped("\xe4\xff.xml", reportXML, strings.Repeat("ä", 300)+".xml", reportXML), func(*Record) error { return nil })
	require.NoError(t, err)
	require.Equal(t, "\ufffd.xml", f.Reports[0].Name)
	require.Equal(t, strings.Repeat("ä", 127)+"\ufffd", f.Reports[1].Name)
	r, _, err := read(t, []byte("<feedback xmlns='"+strings.Repeat("x", 300)+"'><extensions><extension name='\xff'/></extensions></feedback>"))
	require.NoError(t, err)
	require.Len(t, r.Namespace, maxName)
	require.Equal(t, []Extension{{Name: "\ufffd"}}, r.Extensions)
}
