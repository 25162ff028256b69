/** The vocabulary of tasks. */

export const adjectives =
  'amber brisk calm copper dusty early fading gentle hollow idle jagged keen late mellow narrow opal paper quiet rapid silver tidal upper velvet windy young zinc north south outer inner plain bright'.split(
    ' ',
  )

export const nouns =
  'anchor basin cedar delta ember ferry garden harbor island jetty kiln lantern meadow needle orchard pier quarry river saddle timber urchin valley willow yard zephyr bridge canyon dune engine forge glacier hangar'.split(
    ' ',
  )

export const firstNames =
  'Ada Bruno Carla Dmitri Elena Farid Grace Hugo Ines Jonas Kira Liam Mona Nils Olga Pavel Quinn Rosa Stefan Tara Umar Vera Walter Xenia Yusuf Zoe'.split(
    ' ',
  )

export const lastNames =
  'Abbott Becker Castro Duarte Evans Fischer Gomez Hansen Ivanov Jensen Kowalski Larsen Moreau Novak Okafor Petrov Quintana Rossi Schmidt Tanaka Ueda Vargas Weber Xu Yilmaz Zhang'.split(
    ' ',
  )

/** Surnames with non-ASCII letters, all within Latin-1. */
export const accentedNames = ['Müller', 'Nuñez', 'Lefèvre', 'Åberg', 'Gonçalves', 'Jørgensen', 'Peña', 'Bäcker']

export const plainWords =
  'able acid aged also area army away baby back ball band bank base bath bear beat bell belt bench best bird blow blue boat body bond bone book born both bowl bulk burn bush busy cake call calm came camp card care case cash cast cell chat chip city club coal coat code cold come cook cool cope copy core cost crew crop dark data date dawn days dead deal dean dear debt deep deny desk dial diet dirt disc disk door dose down draw drop drum dual duke dust duty each earn ease east easy edge else even ever exit face fact fail fair fall farm fast fate fear feed feel file fill film find fine fire firm fish five flat flow food foot ford form fort four free from fuel full fund gain game gate gave gear gift girl give glad goal goes gold golf gone good gray grew grey grow gulf hair half hall hand hang hard harm hate have head hear heat held help here hero high hill hire hold hole holy home hope host hour huge hunt hurt idea inch into iron item join jump jury just keen keep kept kick kind king knee knew know lack lady laid lake land lane last late lead left less life lift like line link list live load loan lock logo long look lord lose loss lost love luck made mail main make male many mark mass meal mean meat meet menu mere mile milk mill mind mine miss mode mood moon more most move much must name navy near neck need news next nice nine none nose note okay once only onto open oral over pace pack page paid pain pair palm park part pass past path peak pick pink pipe plan play plot plug plus poll pool poor port post pull pure push race rail rain rank rare rate read real rear rely rent rest rice rich ride ring rise risk road rock role roll roof room root rose rule rush safe sake sale salt same sand save seat seed seek seem seen self sell send sent ship shop shot show shut sick side sign site size skin slip slow snow soft soil sold sole some song soon sort soul spot star stay step stop such suit sure take tale talk tall tank tape task team tech tell tend term test text than that them then they thin this thus till time tiny told toll tone tool tour town tree trip true tune turn twin type unit upon used user vary vast very vice view vote wage wait wake walk wall want ward warm wash wave ways weak wear week well went were west what when whom wide wife wild will wind wine wing wire wise wish with wood word work yard year your zero zone'.split(
    ' ',
  )
