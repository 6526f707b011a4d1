package phrase_test

import (
	"fmt"
	"time"

	"github.com/diagkit/diagkit/diag/phrase"
)

func Example() {
	servers := []string{"ns1.example.com", "ns2.example.com", "ns3.example.com", "ns4.example.com"}
	fmt.Println(phrase.Count(len(servers), "server"))
	fmt.Println(phrase.Series(servers, 2))
	fmt.Println(phrase.Duration(6*time.Hour + 2*time.Minute))
	fmt.Println(phrase.Quote("v=spf1\x1b[2J"))
	fmt.Println(phrase.Nearest("inclde", "include", "exists", "redirect"))
	// Output:
	// 4 servers
	// ns1.example.com, ns2.example.com and 2 more
	// 6 h 2 min
	// "v=spf1\x1b[2J"
	// include
}
