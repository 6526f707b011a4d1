package textutil

import (
	"strings"
	"sync"
)

// passphraseWords are 2048 English words of three to eight letters that are easy to say and to spell, so that each adds
// exactly 11 bits. No word begins another one, and few sound like another one. Their order is that of the alphabet.
var passphraseWords = sync.OnceValue(func() []string { return strings.Fields(passphraseText) })

const passphraseText = `
able acid acorn acre actor adapt adobe adopt adult agent agile agree ahead aide aim air alarm album alder alert
algae alias alike alive alley alloy almond aloe alone alpha alpine alter amber amble amend ample amuse anchor
angel angle animal ankle annex answer antler anvil apart apex apple apply apricot apron arch arctic arena argue
arid armor aroma arrow artist ascend ash aside ask aspen asset aster atlas atom attic audio august author auto
autumn avenue avoid awake award away awning axis axle azure baby bacon badger bagel baker balance ballad ballet
balloon balm bamboo banana band banjo bank banner barber bargain barge bark barley barn barrel basalt base basil
basin basket batch bath baton battery bay beach beacon bead beak beam bean beard beast bed beetle begin beige
belfry belly belt bench bend berry best beta bib bicycle big bike bin birch bird biscuit bison bite black blade
blanket blast blazer blend blimp blink block bloom blossom blouse blue bluff board boat bobbin bodice body boil
bold bolt bonfire bonnet bonus book boost boot border bottle boulder bounce bowl box brace bracket braid brain
branch brandy brass brave bread break breath breeze brew brick bridge brief bright brim bring brisk broad bronze
brook broom brother brown brush bubble bucket buckle budget buffalo buffet bugle build bulb bulk bull bumper
bunch bundle bunny buoy burger burrow bush busy butler butter button buy buzz cabbage cabin cable cactus cadence
cadet cafe cage cake calf callus calm camel camera camp canal canary candid candle candy cane canoe canopy
canvas canyon cape capital captain caramel caravan carbon cargo carol carpet carrot carry cart carve case cashew
castle casual catalog catch cattle cavern cedar celery cellar cello cement census center cereal chain chair
chalk chamber champ channel chant chapel chapter charm charter chase cheddar cheek cheer cheese chef cherry
chess chick chief child chili chime chimney chin chip chisel chive choir choose chord chorus chrome chunk church
cider cinema cipher circle circus citizen citrus city civic claim clamp clap clasp class claw clay clean clear
clerk clever click cliff climate climb clinic clip cloak clock closet cloth cloud clover club clue cluster coach
coal coaster coat cobalt cobbler cobra cocoa coconut code coffee coil coin cold collar college collie colony
color colt column comb comedy comet comfort comic commute compass concert condor cone contest convoy cookie
cooler copper copy coral cord core cork corner corral cosmic cosmos cottage cotton couch cougar country couple
coupon courage court cousin cover cow coyote cozy crab crack cradle craft crane crater crayon cream create
credit crest crew cricket crimson crisp critic crocus crop cross crouton crowd crown cruiser crumb crust crystal
cube cuckoo culture cup curator curb curfew curio curl curry curtain curve cushion custom cycle cyclone cypress
dagger daily dairy daisy damask damp dance dandy dapper dapple dare dark dart dash data date dawn day dazzle
deal dear debate debut decade decent deck decor deep deer define delta deluxe demand denim dentist depart
deposit depot depth deputy derby desert design desktop dessert detail detect devote dial diamond diary dice diet
digital dill dime dimple diner dinner diploma direct dish disk distant dive divide docile dock doctor dogwood
doll dolphin domain dome domino donkey donor door dormant dot double dough dove down dozen draft dragon drama
draw dream dress drift drill drink drive drizzle drone drop drummer dry duchess duck duet dune dusk dust duty
dwell dye dynamo eager eagle early earn earth easel eastern easy eat echo eclair eclipse ecology economy edge
edible edit effort egg eighty elastic elbow elder elect elegant elevate elk elm embark ember emblem emerald emit
emotion empire empty emu enable enamel endive endless energy engine engrave enjoy enroll enter entire entry
envoy epic epilog epoch equal equator equip era errand escort essay estate eternal evening event evolve exact
exam excel exhibit exit expand expert explore export express extra eye fable fabric face factory faculty fairy
falcon fall fame family fancy farmer fashion fast father fawn feast feather fellow fence fennel fern ferry
fertile fetch fever fiber fiddle field fiesta fifteen figment figure file filling film filter final finch find
fine finger finish fire firm first fiscal fish five fix flag flake flame flannel flap flare flash flask flat
flavor flax fleet flicker flight flint flipper float flock floor floral florist fluent fluffy fluid flute fly
foam focus fog foil fold foliage folio folk follow food foot forest forge fork formal fortune forum forward
fossil found fox fragile frame freckle freedom freeze freight fresh friday fridge friend frigate fringe frisbee
frog front frost frugal fruit fudge fuel full fund funnel furnace future gadget galaxy gale gallery gallon
gallop game gander gap garage garden garlic garnet gas gate gather gauge gazebo gazelle gear gecko gelatin gem
general genius genre gentle geology gerbil geyser giant gift giggle ginger giraffe give glacier glade glance
glass gleam glide glimmer glimpse glitter globe glory glove glow glue gnocchi gnome goal goat goblet goggle gold
golf gondola good goose gopher gorge gourmet gown grace grade grain grammar grand granite granola grape graphic
grass gravel gravity gravy gray great green greet grid grill grin grip grocer groove ground group grove grow
guard guava guess guest guide guild guitar gulf gull gumdrop guppy gust guy gym habitat haiku hail half halibut
hall halo hamlet hammer hammock hamper handle hangar happy harbor hard harmony harness harp harvest hatch haven
hawk hay head healthy heart heather hedge height helium hello helmet helpful hemp hen herald herb herd heron
hexagon hidden high hike hilltop hint hippo history hobby hockey hold holiday hollow holly home honesty honey
hood hoof hook hoop hope horizon horn horse hose hostel hotel hour house hover hub huge hull human humble humid
hummus humor hunt hurdle hurry husky hut hydrant hyena hymn iceberg icicle icon ideal igloo image imagine impact
impala import improve inch include index indigo indoor infant ink inlet inn input insect inside insight inspire
install instant invent invite invoice iris iron island italic item ivory ivy jacket jade jaguar jam janitor
jargon jasper jaw jazz jeans jeep jelly jersey jet jewel jigsaw job jockey jog join joke jolly joy judge juggle
juice july jumbo jump june jungle junior jury kale kayak keen keep kelp kennel kernel kettle kick kidney kilt
kimono kind kiosk kite kitten kiwi knee knife knob knot know koala label labor lace ladder ladle lady lagoon
lake lamb lamp lance lane laptop large lark laser lasso last latch late lathe latte laugh laurel lava lawn
lawyer layer leader leaf league leap learn lease ledge lend length lens lentil lesson letter level lever lid
life lift light lilac lily limb lime limit linen link lion lip liquid listen liter little live lizard llama load
loaf loan local locket lodge loft logic long look loom loop lotus loud lounge love low loyal lucky lumber lunar
lunch lung lute lynx lyric macaw magic magma magnet magpie major maker mallet mammal mango manner manor manual
maple marble march mare margin marina market maroon marsh marvel mascot mask master match math matrix matter
maze meadow meal medley mellow melody melon memory mend mentor menu merit merry mesh metal meteor meter method
metro middle mild milk mill mime mimosa mint minute mirror mitten mixer moat mobile mocha model modern modest
module moist mole moment monday money monkey month moon moose moral mosaic moss mother motion motor mound mount
mouse mouth move movie muffin mug mule mural museum music mute mutual myrtle myth nail name napkin narrow nation
native nature navy near neat neck nectar needle neon nephew nerve nest nettle never news next nice nickel niece
nimble nine noble nod noise nomad noodle noon normal north nose notion nougat novel nugget number nurse nutmeg
nylon oak oar oasis object oblong oboe ocean octave odd offer office often oil okra old olive omega omelet onion
online onyx opal opaque open opera orange orbit orchid organ orient origin oriole osprey other otter ounce oval
oven owl owner oxen oxygen oyster ozone pace pack paddle pail paint pair palace palm panda panel papaya paper
parade parcel park parlor parrot party pasta pastel pastry patch path patio patrol pause paw peace peach peak
peanut pearl pebble pecan pedal peddle peel pencil penny people pepper perch period permit person petal phone
photo phrase piano pickle picnic pier pigeon pillar pillow pilot pinch pine pink pint pipe pirate pizza place
plaid planet plank plant plaque player plaza pleat pledge plenty plot plow plume plus pocket podium poem poet
point polar pole polite polka pollen pond pony pool poplar poppy porch portal postal poster potato pouch pound
powder power praise prefer press pretty price pride prime prince print prism prize profit proof proper proud
prune public puddle puffin pulley pulse puma punch pupil puppet puppy pure purple purse push puzzle python quail
quaint quarry quartz queen quest quiet quill quilt quince quit quiz quota quote rabbit race rack radar radio
radish raft rail raisin rake rally ranch ranger rapid rare rate rattle raven ravine ray razor reach react ready
realm reason recall recipe record red reed reef refine reform refuge regal region relay relic remain remark
remedy remind remote rent repair repeat reply report rescue result return reveal review reward rhino rhyme
ribbon rice rich rider ridge right rigid ring rinse ripe ripple rise ritual river roast robe robin robot rocket
rodeo roll roof rookie room root rope rotate rotor rough round rover row royal rubber ruby rudder rugby ruler
rumba runner rural rush rustic rye sable sack saddle safari safe saga sage sailor salad salmon salon salsa salt
salute same sample sandal satin saucer sauna save savor scale scan scarf scene scenic school scoop score scout
scrap screen screw scroll seal search season seat second secret secure seed select senior sense sensor sentry
sequel sequin serene series serve sesame settle seven shade shadow shape share shark sharp shawl shed sheep
sheet shelf shell shelve shield shift shine ship shirt shop shore short shovel shower shrimp shrub shy side
sight signal silent silk silver simple singer single siren sister six size skate sketch skill skirt slate sled
sleek sleep sleeve slice slide slim slope slow small smart smile smoke smooth snack snail snow soap soccer
social sock soda sofa soft soil solar solid solo sonata song sonic sorbet sort soul sound soup source south
space spade spare spark speak speech speed sphere spice spider spiral spirit splash sponge spoon sport spot
spray spring sprint sprout spruce squad square squash squid stable stack staff stage stair stamp stand stanza
start state statue steady steam stem step stereo stern stew stick still stitch stock stone stool stop storm
story stove strait stream street string stripe strong studio study style suburb subway sugar suit summer summit
sunday sunny sunset super supper supply swan sweet swift swim swing switch syrup system tablet tackle tailor
talent talk tall tandem tango tank target tart task tassel taste tavern taxi team teapot teeth temple tempo
tenant tender tennis tenor tent term test thank theme theory thing think third thirty thorn thread three thrift
throat throne thumb ticket tidy tiger tile timber time tinker tinsel tiny title toad toast today toffee token
tomato tone tongue tonic tool tooth topaz topic torch total toucan touch tour towel tower town toy trace track
trade trail train trait tram travel tray treaty trek tremor trend tribe trick trio tripod trophy trout truck
true trunk trust truth try tuba tube tulip tumble tuna tundra tune tunic tunnel turban turf turkey turnip turtle
tutor tuxedo twelve twenty twig twin twirl twist two type typist uncle under unfold union unique unity upbeat
update upland uplift upper uptown urban urchin useful usher usual vacuum valid valley value valve vapor vase
vast vault velvet vendor verb verse vessel vest victor video view vinyl viola violet violin virtue visit visor
vista vital vivid vocal voice volume voter vowel voyage wafer waffle wage wagon waiter wallet walnut walrus
waltz wander warm wash wasp watch wave wax way wealth weave web wedge weight well wharf wheat white whole wicker
wide willow window wing winner winter wire wisdom wise wolf wonder wool word world worm worth wrap wreath wren
wrist writer yacht yam yard yarn yeast yellow yes yoga yogurt yolk young youth yucca zebra zenith zephyr zero
zigzag zinc zipper zodiac zone zoom
`
