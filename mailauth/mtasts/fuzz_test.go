package mtasts

import (
	"reflect"
	"testing"
)

// A valid record survives a round trip through String.
func FuzzParseRecord(f *testing.F) {
	f.Add("v=STSv1; id=20160831085700Z; more=a;")
	f.Add("v=STSv1;;id=1 ; id=2")
	f.Fuzz(func(t *testing.T, text string) {
		r, err := ParseRecord(text)
		list := format.Parse(text)
		readRecord(&list)
		for _, fault := range list.Faults {
			_ = text[fault.Offset : fault.Offset+fault.Length]
		}
		if err != nil {
			if !reflect.DeepEqual(r, Record{}) {
				t.Errorf("both %+v and %v", r, err)
			}
			return
		}
		if again, err := ParseRecord(r.String()); err != nil || !reflect.DeepEqual(again, r) {
			t.Errorf("%+v is printed as %q, which reads as %+v, %v", r, r, again, err)
		}
	})
}

func FuzzParsePolicy(f *testing.F) {
	f.Add("version: STSv1\nmode: enforce\nmx: *.example.com\nmax_age: 604800\nx: y z\n")
	f.Add("version:STSv1\r\nmode:none\r\nmax_age:0")
	f.Add("\ufeffmode: none\n\n: \n<")
	f.Fuzz(func(t *testing.T, text string) {
		p, err := ParsePolicy(text)
		if err != nil {
			if !reflect.DeepEqual(p, Policy{}) {
				t.Errorf("both %+v and %v", p, err)
			}
			return
		}
		if again, err := ParsePolicy(p.String()); err != nil || !reflect.DeepEqual(again, p) {
			t.Errorf("%+v is printed as %q, which reads as %+v, %v", p, p, again, err)
		}
	})
}
