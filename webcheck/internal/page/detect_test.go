package page

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/unicode/norm"
)

// specimens are texts of web pages, and the encodings in which such pages are found.
var specimens = []struct{ language, charsets, text string }{
	{"Russian", "windows-1251 koi8-r iso-8859-5 ibm866 x-mac-cyrillic", "Чай и чашки в розницу. Мы продаём чай и чашки с доставкой по всей стране. Заказ можно оформить на сайте или по телефону, оплата при получении. Новости магазина и скидки для постоянных покупателей."},
	{"Ukrainian", "windows-1251 koi8-u", "Ремонт велосипедів у місті. Ми ремонтуємо велосипеди всіх виробників у нашій майстерні, зазвичай протягом двох днів. Її адресу та години роботи ви знайдете на сторінці контактів."},
	{"Bulgarian", "windows-1251", "Книжарница за стари книги. Предлагаме голям избор от книги на български и чужди езици. Поръчайте днес и ще получите пратката си до два работни дни с куриер до вашия адрес."},
	{"Serbian", "windows-1251", "Продавница бицикала и опреме. Наша радња нуди бицикле за целу породицу, као и поправку свих делова. Љубазни мајстори ће вам помоћи да изаберете прави бицикл."},
	{"Greek", "windows-1253 iso-8859-7", "Καλημέρα κόσμε, πουλάμε τσάι και φλιτζάνια. Το κατάστημά μας βρίσκεται στο κέντρο της πόλης και είναι ανοιχτό κάθε μέρα. Παραγγελίες γίνονται τηλεφωνικά ή από την ιστοσελίδα μας."},
	{"Hebrew", "windows-1255", "חנות לספרים ישנים. אנחנו מוכרים ספרים בעברית ובשפות אחרות, ומציעים משלוח לכל חלקי הארץ. שעות הפתיחה של החנות הן בימים ראשון עד חמישי מהבוקר עד הערב."},
	{"Arabic", "windows-1256", "متجر الشاي والقهوة في وسط المدينة. نقدم لكم أفضل أنواع الشاي والقهوة من جميع أنحاء العالم مع خدمة التوصيل إلى المنازل. يمكنكم الاتصال بنا عبر الهاتف أو البريد الإلكتروني."},
	{"Thai", "windows-874", "ร้านขายชาและกาแฟในเมือง เรามีชาและกาแฟหลายชนิดจากทั่วโลก พร้อมบริการจัดส่งถึงบ้าน ท่านสามารถสั่งซื้อสินค้าได้ทางโทรศัพท์หรือทางเว็บไซต์ของเราทุกวัน"},
	{"Turkish", "windows-1254", "Şehirde bisiklet tamiri. Atölyemizde bütün markaların bisikletlerini iki gün içinde onarıyoruz. Çalışma saatlerimiz ve adresimiz için iletişim sayfamıza bakınız, sorularınızı telefonla da yanıtlıyoruz."},
	{"Polish", "windows-1250 iso-8859-2", "Naprawa rowerów w mieście. Naprawiamy rowery wszystkich marek, zwykle w ciągu dwóch dni. Części i akcesoria można zamówić również przez internet, a płatność następuje przy odbiorze w sklepie."},
	{"Czech", "windows-1250 iso-8859-2", "Opravy jízdních kol ve městě. Opravujeme kola všech značek, obvykle během dvou dnů. Náhradní díly a příslušenství můžete objednat také přes internet, platba při převzetí."},
	{"Slovak", "windows-1250 iso-8859-2", "Oprava bicyklov v meste. Opravujeme bicykle všetkých značiek, zvyčajne do dvoch dní. Náhradné diely a príslušenstvo si môžete objednať aj cez internet, platba pri prevzatí tovaru."},
	{"Hungarian", "windows-1250 iso-8859-2", "Kerékpárjavítás a városban. Minden márkájú kerékpárt megjavítunk, általában két napon belül. A hozzávalók és az alkatrészek interneten is megrendelhetők, fizetni az átvételkor kell. Gyűjtőknek régi kerékpárok."},
	{"Croatian", "windows-1250 iso-8859-2", "Popravak bicikala u gradu. Popravljamo bicikle svih proizvođača, obično u roku od dva dana. Rezervne dijelove možete naručiti i putem interneta, a plaćanje je moguće pri preuzimanju. Naša radionica čeka vašu narudžbu."},
	{"Lithuanian", "windows-1257", "Dviračių remontas mieste. Taisome visų gamintojų dviračius, dažniausiai per dvi dienas. Atsargines dalis galite užsisakyti internetu, o sumokėti atsiėmimo metu. Mūsų dirbtuvė yra miesto centre šalia aikštės."},
	{"Latvian", "windows-1257", "Velosipēdu remonts pilsētā. Mēs remontējam visu ražotāju velosipēdus, parasti divu dienu laikā. Rezerves daļas var pasūtīt internetā un samaksāt, saņemot preci. Mūsu darbnīca atrodas pilsētas centrā."},
	{"Vietnamese", "windows-1258", "Sửa chữa xe đạp trong thành phố. Chúng tôi sửa chữa xe đạp của tất cả các hãng, thường trong vòng hai ngày. Quý khách có thể đặt hàng qua mạng và thanh toán khi nhận hàng."},
	{"French", "windows-1252", "Réparation de vélos à la ville. Nous réparons les vélos de toutes les marques, en général en deux jours. Les pièces détachées peuvent être commandées sur Internet, et le paiement se fait à la réception."},
	{"German", "windows-1252", "Fahrräder für die ganze Familie. Wir reparieren Fahrräder aller Hersteller, gewöhnlich in zwei Tagen. Ersatzteile können Sie auch über das Internet bestellen, die Bezahlung erfolgt bei der Übergabe. Schöne Grüße!"},
	{"Spanish", "windows-1252", "Reparación de bicicletas en la ciudad. Reparamos bicicletas de todas las marcas en dos días. Las piezas también se pueden pedir por Internet, y el pago es a la recepción. ¿Tiene más preguntas? Llámenos mañana."},
	{"Portuguese", "windows-1252", "Reparação de bicicletas na cidade. Reparamos bicicletas de todas as marcas em dois dias. As peças também podem ser encomendadas pela Internet, e o pagamento é feito na recepção. Não hesite em contactar-nos."},
	{"Swedish", "windows-1252", "Cykelreparation i hela staden. Vi lagar cyklar av alla märken, för det mesta på två dagar. Reservdelar går också att beställa över nätet, och betalningen görs när du hämtar cykeln. Välkommen åter."},
	{"Danish", "windows-1252", "Cykelreparation til hele familien. Vi reparerer cykler af alle mærker, som regel på to dage. Reservedele kan også bestilles på nettet, og betalingen sker ved afhentning. Vores værksted har åbent hele året."},
	{"Icelandic", "windows-1252", "Viðgerðir á reiðhjólum í borginni. Við gerum við reiðhjól af öllum gerðum, yfirleitt á tveimur dögum. Einnig má panta varahluti á netinu, og greitt er við afhendingu. Verið velkomin."},
	{"English", "windows-1252", "Bicycle repair in Sampletown – “all makes”. We’ll repair bicycles of all makes in our workshop, and it’s usually done within two days. You don’t have to wait: there’s a bicycle on loan for £5."},
	{"Japanese", "shift_jis euc-jp iso-2022-jp", "茶とカップの店。お茶とカップを売っています。ご注文は電話またはホームページで受け付けています。お支払いは商品の受け取り時にお願いします。営業時間は午前十時から午後七時までです。"},
	{"Korean", "euc-kr", "차와 찻잔을 파는 가게입니다. 우리 가게는 도시의 중심에 있으며 매일 문을 엽니다. 주문은 전화나 홈페이지에서 하실 수 있고 물건을 받으실 때 지불하시면 됩니다. 많은 이용 바랍니다."},
	{"Simplified Chinese", "gbk gb18030", "我们出售各种茶叶和茶杯。本店位于市中心，每天营业。您可以通过电话或者网站订购，收到商品以后再付款。如果您有问题，请与我们联系，我们会尽快回复。欢迎光临我们的网站。"},
	{"Traditional Chinese", "big5", "我們出售各種茶葉和茶杯。本店位於市中心，每天營業。您可以透過電話或者網站訂購，收到商品以後再付款。如果您有問題，請與我們聯絡，我們會儘快回覆。歡迎光臨我們的網站。"},
}

// encoded is a text in an encoding, cut to some characters.
func encoded(t testing.TB, text, charset string, runes int) (bytes []byte, as string) {
	if charset == "windows-1258" { // which has tone marks of their own
		text = strings.NewReplacer("a\u0323\u0302", "â\u0323", "e\u0323\u0302", "ê\u0323", "o\u0323\u0302", "ô\u0323", "o\u031B\u0323", "ơ\u0323",
			"u\u031B\u0323", "ư\u0323", "a\u0323\u0306", "ă\u0323", "a\u0302", "â", "e\u0302", "ê", "o\u0302", "ô", "o\u031B", "ơ",
			"u\u031B", "ư", "a\u0306", "ă").Replace(norm.NFD.String(text))
	}
	if all := []rune(text); runes < len(all) {
		text = string(all[:runes])
	}
	e, err := htmlindex.Get(charset)
	require.NoError(t, err)
	b, err := encoding.ReplaceUnsupported(e.NewEncoder()).Bytes([]byte(text))
	require.NoError(t, err)
	require.NotContains(t, string(b), "&#", "%s: %s", charset, text)
	return b, text
}

// Texts of the length of a paragraph are read right; of short ones nearly all are.
func TestDetect(t *testing.T) {
	for _, tt := range []struct {
		name  string
		runes int
		least float64 // share that is read right
	}{{"paragraph", 1000, 1}, {"sentence", 80, 0.97}, {"title", 25, 0.9}} {
		right, all := 0, 0
		for _, s := range specimens {
			for _, charset := range strings.Fields(s.charsets) {
				body, text := encoded(t, s.text, charset, tt.runes)
				got := Decode([]byte("<!doctype html><title>"+string(body)+"</title>"), "text/html")
				all++
				if strings.Contains(string(got.Text), text) {
					right++
				} else {
					t.Logf("%s, %s in %s: detected as %s", tt.name, s.language, charset, got.Charset)
				}
				require.Equal(t, ByContent, got.By)
			}
		}
		t.Logf("%s: %d of %d", tt.name, right, all)
		require.GreaterOrEqual(t, float64(right), tt.least*float64(all), tt.name)
	}
}

func TestDetectNothing(t *testing.T) {
	for body, want := range map[string]string{
		"": "utf-8", "plain": "utf-8", "caf\xE9": "windows-1252", "\xA9 2026 Example": "windows-1252", "\xA3825. not bad": "windows-1252",
		"Bücher": "utf-8", "Bücher \xE2\x82": "utf-8", strings.Repeat("Bücher ", 100) + "\xFF": "utf-8", "\x1B$B$3$s\x1B(B": "iso-2022-jp",
	} {
		require.Equal(t, want, Decode([]byte(body), "").Charset, "%q", body)
	}
	four, _ := encoded(t, strings.Repeat("我们的网站𠀀", 5), "gb18030", 1000)
	d := Decode(four, "")
	require.Equal(t, "gbk", d.Charset)
	require.False(t, d.Undecoded)
}

// BenchmarkDetect finds the encoding of a page of a megabyte.
func BenchmarkDetect(b *testing.B) {
	for _, charset := range []string{"windows-1251", "shift_jis"} {
		text := map[string]string{"windows-1251": specimens[0].text, "shift_jis": specimens[25].text}[charset]
		body, _ := encoded(b, text, charset, 1000)
		body = bytes.Repeat(append(body, "<p class=text>"...), 1<<20/(len(body)+14))
		b.Run(charset, func(b *testing.B) {
			b.SetBytes(int64(len(body)))
			for b.Loop() {
				detect(body)
			}
		})
	}
}

// BenchmarkRead reads a page of a megabyte that states no encoding.
func BenchmarkRead(b *testing.B) {
	body, _ := encoded(b, specimens[0].text, "windows-1251", 1000)
	body = bytes.Repeat([]byte("<p class=text>"+string(body)+" <a href=/next>"+string(body[:30])+"</a></p>\n"), 1<<20/(len(body)+70))
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		Read(body, Options{ContentType: "text/html"})
	}
}

func FuzzDetect(f *testing.F) {
	f.Add([]byte("\xD7\xE0\xE9 \xE8"))
	f.Add([]byte("\x8E\x91\x82\xC6"))
	f.Fuzz(func(t *testing.T, body []byte) {
		if _, err := htmlindex.Get(detect(body)); err != nil {
			t.Error(err)
		}
	})
}
