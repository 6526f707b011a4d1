//go:build !race

package phishing

import (
	"fmt"
	"github.com/diagkit/diagkit/diag/diagtest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestLab(t *testing.T) {
	files, _ := filepath.Glob(os.Getenv("LAB"))
	for _, f := range files {
		r := visitPage(t, f, 900)
		c := fmt.Sprint(diagtest.CodesOf(r.Findings))
		fmt.Println(filepath.Base(f), r.Verdict, r.RiskScore, "|", r.Headline, "|", strings.ReplaceAll(c, "phishing.", ""))
	}
}
