package diagtest

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"
)

// update is the flag of [Golden]; it is nil outside tests, where programs own the command line.
var update = updateFlag()

func updateFlag() *flag.Flag {
	if !testing.Testing() {
		return nil
	}
	if flag.Lookup("update") == nil {
		flag.Bool("update", false, "write golden files instead of comparing with them")
	}
	return flag.Lookup("update")
}

// Golden compares got with the file at path, such as "testdata/texts.golden". With the flag -update of
// the test the file is written instead, to be read in review like code.
func Golden(t testing.TB, path string, got []byte) {
	t.Helper()
	if update != nil && update.Value.String() == "true" {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v (go test -update writes it)", err)
	}
	if bytes.Equal(got, want) {
		return
	}
	gotLines, wantLines := bytes.Split(got, []byte("\n")), bytes.Split(want, []byte("\n"))
	for i := range max(len(gotLines), len(wantLines)) {
		if g, w := line(gotLines, i), line(wantLines, i); g != w {
			t.Fatalf("%s:%d: differs (go test -update writes it)\n got: %s\nwant: %s", path, i+1, g, w)
			return
		}
	}
}

func line(lines [][]byte, i int) string {
	if i >= len(lines) {
		return "(end of file)"
	}
	return string(lines[i])
}
