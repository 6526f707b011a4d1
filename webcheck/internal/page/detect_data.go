package page

// languages are those of the encodings that browsers detect, with their letters beyond ASCII, the frequent ones first.
var languages = []struct {
	charsets string
	latin    bool
	letters  string
}{
	{"windows-1252", true, "éàèêçâîôùûëïœ"},                                    // French
	{"windows-1252", true, "äüößé"},                                            // German
	{"windows-1252", true, "óíáéñúü¿¡"},                                        // Spanish
	{"windows-1252", true, "ãçáéíóêõâúàô"},                                     // Portuguese
	{"windows-1252", true, "èàùòéì"},                                           // Italian
	{"windows-1252", true, "àèéíòóçúïü"},                                       // Catalan
	{"windows-1252", true, "äåöé"},                                             // Swedish, Finnish
	{"windows-1252", true, "øåæé"},                                             // Danish, Norwegian
	{"windows-1252", true, "éëïöüè"},                                           // Dutch
	{"windows-1252", true, "íðáóþæöúýé"},                                       // Icelandic
	{"windows-1252", true, "’“”–—"},                                            // English
	{"windows-1250 iso-8859-2", true, "łęąóśżćńź"},                             // Polish
	{"windows-1250 iso-8859-2", true, "íáéěřýžčšůúťďňó"},                       // Czech
	{"windows-1250 iso-8859-2", true, "áíčéžýšúťľňôäďóŕĺ"},                     // Slovak
	{"windows-1250 iso-8859-2", true, "áéöíőóüúű"},                             // Hungarian
	{"windows-1250 iso-8859-2", true, "ăîţşâ"},                                 // Romanian
	{"windows-1250 iso-8859-2", true, "čšžćđ"},                                 // Croatian, Slovene
	{"windows-1254", true, "ıüşğçöâî"},                                         // Turkish
	{"windows-1257", true, "ėšųžįčūąę"},                                        // Lithuanian
	{"windows-1257", true, "āīēšūņļžģķč"},                                      // Latvian
	{"windows-1257", true, "äõüöšž"},                                           // Estonian
	{"windows-1258", true, "\u0301\u0300đư\u0323âêôơăà\u0309á\u0303óíéèùúòêç"}, // Vietnamese
	{"windows-1251 koi8-r iso-8859-5 ibm866 x-mac-cyrillic", false, russian},   // Russian
	// Ukrainian
	{"windows-1251 koi8-u iso-8859-5", false, "оаинвіетрсклудмпязьбгчйхжїєшюцщфґ’"},
	// Bulgarian
	{"windows-1251 iso-8859-5", false, "аиоетнрсвлкдпмзябгъучйшцжщхюфь"},
	// Serbian, Macedonian
	{"windows-1251 iso-8859-5", false, "аоиенрстјкувдпмлзгбчшцњжљхћђфџѓќѕ"},
	// Belarusian
	{"windows-1251", false, "анеіорлтсыкдпвмуяьбзгйўхшчжюэцёф"},
	// Greek
	{"windows-1253 iso-8859-7", false, "αοιετσνηυρπκμλςωάίόέγήδύχώθφβξζψϊϋΐΰ"},
	// Hebrew
	{"windows-1255", false, "יוהלאתמרבשנעדחקפסכגטצםןזךףץ\u05BC\u05B8\u05B4\u05B7\u05B0"},
	// Arabic
	{"windows-1256", false, "اليمنرتبوةعدسفهكقحجأشصطخىءإذضزغثظآئؤ،؟"},
	// Persian
	{"windows-1256", false, "ایرنهدموتبسشکزلگخفقعپچحجآذصطغضژثظئء\u200C،؟يك"},
	{"windows-874", false, thai}, // Thai
}

const (
	russian = "оеаинтсрвлкмдпуяыьгзбчйхжшюцщэфъё"
	thai    = "านรอกเ\u0E48ง\u0E49\u0E31มยลวดท\u0E34สต\u0E35บปคะแ" +
		"ห\u0E37\u0E38จ\u0E4Cขใพ\u0E39ไชโผธ\u0E47\u0E36\u0E4Dซถศณญ" +
		"\u0E33ภฟษฉฐๆฯฎฏฝฬฮฤฆ๑๒๓"
)

// The characters that are frequent in the languages of East Asia. Those of Japanese occur with kana.
const (
	japanese = "日一国人年大本中出長会時行上事生分自者間東前合入社学地的員発見理業新" +
		"同手定場立部方力法代明関用高下作性相体対月問思気市知変金政実家民化目度通連平" +
		"回三主来私今書言現名最電話品店売案内世界情報検索文字使物小水道山田京都車県町" +
		"村無料予約会員登録質開始終了次第詳細以外可能必要検討利用説明表示設定画面選択" +
		"方法元全動意味何子女男心不当多数強"
	korean = "이다는을의에가고하지한도를사로은기자대리어인나시그정아서라부제수해들있" +
		"일만장전주상보과스없성면거위우말여비공경문동생국원학화게안신적마중조소세관구" +
		"무모유연미으더오바차업같내방당음러것실물려히회계통간불체용반행분데선교심야외" +
		"했되었습니까요않됩께터드트민현단산양진건권설강김박최발식품색검법개별본재와때" +
		"점할합된료입출목록명"
	simplified = "的一是不了在人有我他这个们中来上大为和国地到以说时要就出会可也你对生" +
		"能而子那得于着下自之年过发后作里用道行所然家种事成方多经么去法学如都同现当没" +
		"动面起看定天分还进好小部其些主样理心她本前开但因只从想实日军者意无力它与长把" +
		"机十民第公此已工使情明性知全三又关点正业外将两高间由问很最重并物手应战向头文" +
		"体政美相见被利什二等产或新己制身果加西斯月话合回特代内信表化老给世位次度门任" +
		"常先海通教儿原东声提立及比员解水名真论处走义各入几口认条平系气题活更别打女变" +
		"四神总何电数安少报才结反受目太量再感建务做接必场件计管期市直资命山金指许统区" +
		"保至队形社便空决治展马科司五基书非则听白却界达光放强像难且权思完设式色路记南" +
		"品住告类求据程北边张该交规万取望术领共确传师观清今切院让识候带导运网站版首页" +
		"联系我们公司服务中心"
	traditional = "的一是不了在人有我他這個們中來上大為和國地到以說時要就出會可也你對" +
		"生能而子那得於著下自之年過發後作裡用道行所然家種事成方多經麼去法學如都同現當" +
		"沒動面起看定天分還進好小部其些主樣理心她本前開但因只從想實日軍者意無力它與長" +
		"把機十民第公此已工使情明性知全三又關點正業外將兩高間由問很最重並物手應戰向頭" +
		"文體政美相見被利什二等產或新己制身果加西斯月話合回特代內信表化老給世位次度門" +
		"任常先海通教兒原東聲提立及比員解水名真論處走義各入幾口認條平系氣題活更別打女" +
		"變四神總何電數安少報才結反受目太量再感建務做接必場件計管期市直資命山金指許統" +
		"區保至隊形社便空決治展馬科司五基書非則聽白卻界達光放強像難且權思完設式色路記" +
		"南品住告類求據程北邊張該交規萬取望術領共確傳師觀清今切院讓識候帶導運網站版首" +
		"頁聯絡灣台請服"
)
