package route_test

import (
	"fmt"
	"net/netip"

	"github.com/diagkit/diagkit/mailauth/internal/route"
	"github.com/diagkit/diagkit/mailauth/message"
)

func Example() {
	m := message.Split([]byte("Received: from mail.example.org (mail.example.org [192.0.2.25])\n" +
		"\tby mx.example.com (Postfix) with ESMTPS id 4XcQ1Z0abc; Sun, 1 Nov 2026 09:00:04 +0000\n"))
	path := route.Read(m)
	outside := path.FindOutside(nil, netip.Addr{})
	_, why := outside.Offline()
	fmt.Println(why)
	// Output: mx.example.com received the message from 192.0.2.25, which is not one of the receiver's servers (example.com).
}
