package svg

import (
	"bytes"
	"encoding/xml"
	"io"
	"reflect"
	"strings"
	"testing"
)

// A compliant image has no active content, and is well-formed for encoding/xml as well. The verdict is deterministic,
// and each fault is within the image.
func FuzzValidate(f *testing.F) {
	for _, seed := range []string{
		good, with(`<g fill="url(#a)"/>`), xlinked(`<use xlink:href="#a"/>`), with("<script/>"), with("<![CDATA[ ]]>"),
		"<!DOCTYPE svg [<!ENTITY a 'b'>]>" + with("&a;"), utf16of(good), markUTF8 + good, with("<!-- <script> -->"),
		`<?xml version="1.0" encoding="iso-8859-1"?>` + good, with(`<path d="M0 0a1 1 0 0110 10z"/>`),
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, image []byte) {
		d := Validate(image)
		if again := Validate(bytes.Clone(image)); !reflect.DeepEqual(d, again) {
			t.Fatalf("%+v, then %+v", d, again)
		}
		lines := 1 + strings.Count(string(image), "\n") + strings.Count(string(image), "\r")
		for _, fault := range d.Faults {
			if fault.Message == "" || fault.Line > lines || fault.Line < 0 || (fault.Line == 0) != (fault.Column == 0) {
				t.Fatalf("%+v", fault)
			}
		}
		if !d.Compliant() {
			return
		}
		if !d.Complete {
			t.Fatal("compliant, although it was not read to its end")
		}
		text, encoding, _ := decodeText(image)
		lower := strings.ToLower(text)
		for _, word := range []string{"<script", "<!doctype", "<!entity", "<?xml-stylesheet"} {
			if strings.Contains(lower, word) {
				t.Fatalf("compliant with %s", word)
			}
		}
		if encoding != "utf-8" {
			return
		}
		for r := xml.NewDecoder(strings.NewReader(text)); ; {
			if _, err := r.Token(); err == io.EOF {
				return
			} else if err != nil {
				t.Fatalf("compliant, but no XML to encoding/xml: %v", err)
			}
		}
	})
}

// For any input, the output is bounded and deterministic.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(good))
	f.Add([]byte("\x1f\x8b\x08\x00"))
	f.Fuzz(func(t *testing.T, file []byte) {
		image, compressed, err := Decode(file)
		if len(image) > MaxBytes || err != nil && image != nil || compressed != gzipped(file) {
			t.Fatalf("%d bytes, %v, %v", len(image), compressed, err)
		}
		if again, _, _ := Decode(file); !bytes.Equal(again, image) {
			t.Fatal("another image the second time")
		}
	})
}

// Parsing of colors, numbers and functions terminates on any input.
func FuzzValues(f *testing.F) {
	f.Add("M0 0 1 1zm.5.5e1-1,1A1 1 0 01 2 2")
	f.Add("rgb(1,2,3) url(#a) red translate(1 2)")
	f.Fuzz(func(t *testing.T, v string) {
		for _, kind := range models()["path"].attrs {
			if kind.understood != nil {
				kind.understood(v)
			}
		}
		if box, ok := pathBox(v); ok && (box.Width < 0 || box.Height < 0) {
			t.Fatalf("%+v", box)
		}
	})
}
