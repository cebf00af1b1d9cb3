//! Units, money, dates, times and numbers in words: which texts say the same, and which do not.

use assay_math::{Options, equivalent};

/// Classes of texts: all of one line say the same, in both directions.
const SAME: &[(&str, &[&str])] = &[
    (
        "times in two units",
        &[
            "2 hours 30 minutes",
            "2.5 hours",
            "150 minutes",
            "2h 30min",
            "2 hours and 30 minutes",
            "9000 s",
            r"2\text{ hours }30\text{ minutes}",
            r"\text{2 hours 30 minutes}",
            "2 hours, 30 minutes",
        ],
    ),
    (
        "lengths in two units",
        &[
            "5 feet 6 inches",
            "66 inches",
            "5'6\"",
            r"5\text{ ft }6\text{ in}",
            "5 ft 6 in",
            "5.5 ft",
        ],
    ),
    (
        "temperatures",
        &[
            r"25^\circ\text C",
            "25 °C",
            "25°C",
            "25 ℃",
            "25 degrees Celsius",
            r"25\,^\circ C",
            r"25^{\circ}\mathrm{C}",
            "298.15 K",
            "77 °F",
            "25摄氏度",
        ],
    ),
    (
        "siunitx",
        &[
            r"\SI{10}{m/s}",
            r"\SI{10}{\meter\per\second}",
            r"\qty{10}{\m\per\s}",
            r"10\text{ m/s}",
            r"\num{10}\text{ m/s}",
            "36 km/h",
        ],
    ),
    (
        "siunitx angles",
        &[
            r"\ang{45}",
            r"45^\circ",
            r"\frac\pi4\text{ radians}",
            "45 degrees",
            r"\frac{\pi}{4}\text{ rad}",
            "45°",
        ],
    ),
    (
        "ohms",
        &[
            r"5\text{ k}\Omega",
            r"5000\Omega",
            "5000 ohms",
            "5000 Ω",
            r"5\,\mathrm{k\Omega}",
            "5 kΩ",
        ],
    ),
    (
        "farads",
        &[
            r"2\mu\text F",
            "2 uF",
            "2000 nF",
            r"2\,\mu\mathrm{F}",
            "2 μF",
        ],
    ),
    (
        "micrometres",
        &[
            r"100\,\mu\mathrm m",
            r"100\mu m",
            "0.1 mm",
            "100 micrometers",
        ],
    ),
    (
        "newtons",
        &[
            r"12\,\mathrm{kg\cdot m/s^2}",
            "12 N",
            "12 kg m/s^2",
            r"12\,\mathrm{kg}\cdot\mathrm{m}/\mathrm{s}^2",
            r"12\ \text{newtons}",
        ],
    ),
    ("watts", &["5 J/s", r"5\text{ W}", r"5\,\mathrm{J/s}"]),
    (
        "field strength",
        &[
            r"9.8\text{ N/kg}",
            r"9.8\text{ m/s}^2",
            r"9.8\ \mathrm{m\,s^{-2}}",
            "9.8 m/s²",
        ],
    ),
    (
        "molar",
        &[
            r"8.31\frac{J}{mol\cdot K}",
            "8.31 J/(mol K)",
            r"8.31\,\mathrm{J\,mol^{-1}\,K^{-1}}",
        ],
    ),
    ("density", &["1 g/cm^3", "1 g/mL", r"1000\text{ kg/m}^3"]),
    ("concentration", &["2 mol/L", r"2\text{ M}"]),
    ("pressure", &["1 atm", "101325 Pa", "1.01325 bar"]),
    ("electronvolts", &["1 MeV", "1000 keV", "1.602176634e-13 J"]),
    ("kilowatt-hours", &["1 kWh", "1000 Wh", "3.6 MJ"]),
    ("years", &["1 year", "12 months", "1 yr"]),
    (
        "cups",
        &[
            "1 gallon",
            "4 quarts",
            "8 pints",
            "16 cups",
            "128 fl oz",
            "256 tbsp",
            "768 tsp",
        ],
    ),
    (
        "miles an hour",
        &[
            "60 mph",
            r"60\frac{\text{miles}}{\text{hour}}",
            r"60 \text{ miles per hour}",
        ],
    ),
    ("turns", &["30 rpm", "30 rev/min"]),
    ("days", &["5 days", r"5\text{ d}", "120 hours"]),
    ("angles in radians", &[r"\frac\pi2\text{ rad}", r"90^\circ"]),
    (
        "minutes of arc",
        &[r"30^\circ15'30''", "30°15'30\"", r"30^\circ 15' 30''"],
    ),
    (
        "minutes of arc alone",
        &[r"30^\circ15^\prime", "30°15'", "30.25°"],
    ),
    (
        "roots with units",
        &[r"3\sqrt2\text{ m}", r"\sqrt{18} m", r"\sqrt{18}\text{ m}"],
    ),
    (
        "square units",
        &[
            "50 square units",
            r"50\text{ units}^2",
            "50",
            "50 sq. units",
        ],
    ),
    (
        "minutes, and not a minimum",
        &[r"5 \text{ min}", "5 minutes", "300 s", "5"],
    ),
    (
        "Chinese lengths",
        &["3公里", "3 km", "3千米", "3000米", "3"],
    ),
    ("Chinese areas", &["12平方厘米", r"12\text{ cm}^2", "12"]),
    ("Chinese volumes", &["500毫升", "0.5升", "500 mL"]),
    ("Chinese speeds", &["10米/秒", "10 m/s"]),
    ("Chinese hours", &["2小时", "120分钟", "7200秒", "2 h"]),
    ("Chinese degrees", &["30度", "30°"]),
    ("Chinese counting", &["5个", "5", "5颗"]),
    (
        "French hours",
        &[
            "3 heures",
            "3 hours",
            "3 Stunden",
            "3 horas",
            "180 minutos",
            "180 Minuten",
        ],
    ),
    (
        "French lengths",
        &["3 mètres", "3 metros", "300 cm", "3 Meter"],
    ),
    (
        "millions",
        &[
            "5 million",
            "5000000",
            "5 millones",
            "5 Millionen",
            r"5\text{ million}",
        ],
    ),
    ("ten thousands", &["5万", "50000", "5 tens of thousands"]),
    (
        "percentages",
        &[
            "5 pour cent",
            "5 Prozent",
            "5 por ciento",
            r"5\%",
            "5 per cent",
            "5 percent",
            "0.05",
        ],
    ),
    ("thousandths", &["500‰", "1/2", "500 promille"]),
    ("fifths", &["5分之一", "1/5", "0.2"]),
    ("tenths", &["5 tenths", "5成", "1/2"]),
    ("dozens", &["5 dozen", "60", "5 dozens"]),
    (
        "dollars",
        &[
            r"\$5",
            "USD 5",
            r"US\$5",
            "5 USD",
            "5 dollars",
            "500 cents",
            "500¢",
            r"\text{\$}5",
            "five dollars",
            r"\$5.00",
            "5",
        ],
    ),
    (
        "millions of dollars",
        &[
            r"\$2.5 million",
            r"\$2,500,000",
            r"\$2.5\text{ million}",
            "2.5 million dollars",
        ],
    ),
    ("cents", &["25 cents", "25¢", r"\$0.25"]),
    ("euros", &["€20", "20 €", "20 EUR", "20 euros", "20"]),
    ("pounds of money", &["£10", "10 pounds"]),
    ("pounds of mass", &["10 pounds", "10 lb"]),
    ("yuan", &["¥300", "300元", "300 yuan", "RMB 300"]),
    ("yen", &["¥300", "300 yen"]),
    ("rupees", &["₹100", "Rs. 100", "100 rupees", "100"]),
    (
        "dates",
        &[
            "January 2, 2024",
            "2024-01-02",
            "2 January 2024",
            "Jan 2, 2024",
            "January 2nd, 2024",
            "2024/01/02",
            "2024年1月2日",
            "2 janvier 2024",
            "2. Januar 2024",
            "2 de enero de 2024",
            r"\text{January 2, 2024}",
        ],
    ),
    (
        "days of a year",
        &[
            "March 5",
            "March 5th",
            "Mar 5",
            "5 March",
            r"\text{March 5}",
        ],
    ),
    ("months", &["March", "Mar"]),
    (
        "afternoons",
        &[
            "5 PM",
            "17:00",
            "5:00 PM",
            "5 p.m.",
            "5 pm",
            "5:00 p.m.",
            r"5\text{ PM}",
            r"5:00 \text{ PM}",
        ],
    ),
    ("evenings", &[r"\text{8:34 PM}", "8:34 PM", "20:34"]),
    ("noon", &["12:00 PM", "noon", "12 noon"]),
    ("midnight", &["12:00 AM", "midnight"]),
    ("hours of a clock", &["5 o'clock", "5:00"]),
    (
        "halves",
        &[
            "one half", "half", "a half", r"\frac12", "0.5", "un demi", "ein halb", "medio", "一半",
        ],
    ),
    (
        "thirds",
        &[
            "one-third",
            "a third",
            "1/3",
            "三分之一",
            "un tiers",
            "ein Drittel",
            "un tercio",
            "One third",
        ],
    ),
    (
        "quarters",
        &["three fourths", "three quarters", "3/4", "three-quarters"],
    ),
    (
        "negative words",
        &[
            "negative three",
            "minus three",
            "-3",
            "minus 3",
            "negative 3",
        ],
    ),
    ("twenty-one", &["twenty-one", "21", "二十一", "Twenty one"]),
    (
        "hundreds",
        &[
            "one hundred and twenty-five",
            "one hundred twenty-five",
            "125",
        ],
    ),
    ("thousands", &["one thousand", "1000", "一千"]),
    ("a dozen", &["a dozen", "12"]),
    (
        "mixed numbers in words",
        &["one and a half", "1 1/2", "1.5"],
    ),
    ("points in words", &["three point five", "3.5", "三点五"]),
    (
        "percentages in words",
        &["fifty percent", r"50\%", "百分之五十"],
    ),
    ("two", &["两", "二", "two", "2", "deux", "zwei", "dos"]),
    (
        "counts in any order",
        &[
            "10 boys and 5 girls",
            "5 girls and 10 boys",
            "10 boys, 5 girls",
        ],
    ),
    (
        "metres without markup",
        &["5 m", "500 cm", r"5\text{ m}", "5"],
    ),
    ("cubic metres without markup", &["5 m^3", "5000 L", "5"]),
    ("a product and a unit", &["2nm", "2mn"]),
    (
        "sentences of a value",
        &["x = 5 cm", r"x = 5\text{ cm}", "5 cm", "x = 50 mm"],
    ),
    (
        "lists with units",
        &[
            "5 cm, 6 cm",
            r"5\text{ cm}, 6\text{ cm}",
            "50 mm and 60 mm",
            "5, 6",
        ],
    ),
    (
        "hourly wages",
        &[
            r"\$15 per hour",
            r"\$15\text{ per hour}",
            r"\$15/\text{hour}",
            "15 dollars per hour",
        ],
    ),
    (
        "chemistry",
        &[
            "40 kJ/mol",
            r"40\,\frac{\text{kJ}}{\text{mol}}",
            r"40000\ \mathrm{J\cdot mol^{-1}}",
        ],
    ),
    (
        "knots",
        &["20 knots", "20 nautical miles per hour", "37.04 km/h"],
    ),
    (
        "words for the digits of a gold",
        &["Three", "3", r"\text{three}", "trois", "drei", "tres"],
    ),
    (
        "text with a quantity",
        &[
            r"\text{5 cm}",
            "5 cm",
            r"\text{5cm}",
            r"5\,\text{centimeters}",
        ],
    ),
    ("Chinese amounts", &["5万元", "50000元", "¥50000"]),
    ("Chinese afternoons", &["8点30分", "8:30"]),
    (
        "negative temperatures",
        &[
            "-5°C",
            r"-5^\circ\text{C}",
            "minus 5 degrees Celsius",
            "268.15 K",
            "23 °F",
        ],
    ),
    ("negative amounts", &[r"-\$5", r"\$-5", "-5 dollars"]),
    (
        "mixed numbers with units",
        &[
            r"2\frac{1}{2}\text{ hours}",
            "2 1/2 hours",
            "2.5 h",
            "two and a half hours",
            "150 min",
        ],
    ),
    (
        "thousands with units",
        &["1,500 m", "1.5 km", r"1{,}500\text{ m}"],
    ),
    ("decimal commas", &["1,5 km", "1500 m"]),
    (
        "two kinds of coins",
        &["5 dollars and 25 cents", r"\$5.25", "525 cents"],
    ),
    ("half an hour", &["half an hour", "30 minutes", "0.5 hours"]),
    ("kilograms in capitals", &["5 KG", "5 kg", "5000 g", "5 Kg"]),
    ("ambiguous days", &["01/02/2024", "1/2/2024"]),
    (
        "ambiguous and clear days",
        &["01/02/2024", "January 2, 2024"],
    ),
    (
        "clear and ambiguous days",
        &["1 February 2024", "01/02/2024"],
    ),
    (
        "volumes",
        &[
            r"288\pi\text{ cm}^3",
            r"288\pi\ \mathrm{cm}^3",
            r"288\pi",
            "288π cubic centimeters",
        ],
    ),
    (
        "scientific notation",
        &[
            r"3\times10^8\text{ m/s}",
            "3e8 m/s",
            r"3 \times 10^{8} \, \mathrm{m/s}",
            r"3\cdot10^5\text{ km/s}",
        ],
    ),
    (
        "areas in words",
        &["16 square feet", r"16 \text{ ft}^2", "16 sq ft", "16 ft²"],
    ),
];

/// Pairs that do not say the same, in neither direction.
const DIFFERENT: &[(&str, &str)] = &[
    ("25°C", "25 °F"),
    ("25°C", "25 C"),
    ("25°C", "25 K"),
    ("5 T", "5 t"),
    ("5 H", "5 h"),
    (r"5\text{ T}", r"5\text{ t}"),
    (r"5\text{ H}", r"5\text{ h}"),
    ("5 MeV", "5 meV"),
    ("5 Mg", "5 mg"),
    ("5 m", "5 s"),
    ("5m", "5"),
    ("5 x", "5"),
    (r"50\text{ cm}^2", r"50\text{ cm}"),
    (r"50\text{ cm}^2", "50 cm"),
    ("5", "5 thousands"),
    ("5", "5 hundreds"),
    ("5", "5 millions"),
    ("5", "5 tens"),
    ("5", "5 dozens"),
    ("5", "5 gross"),
    ("5", "5 score"),
    ("5", "5 lakh"),
    ("5", "5 crore"),
    ("5", "5 millones"),
    ("5", "5 tenths"),
    ("5", "5 hundredths"),
    ("5", "5 sixths"),
    ("5", "5万"),
    ("5", "5亿"),
    ("5", "5千"),
    ("5", "5百"),
    ("5", "5成"),
    ("5", "5分之一"),
    ("5", "5 pour cent"),
    ("5", "5 promille"),
    ("5", "5‰"),
    (r"\$5", "€5"),
    (r"\$5", "£5"),
    ("€5", "¥5"),
    ("300 yen", "300 yuan"),
    ("January 2, 2024", "2024-02-01"),
    ("January 2, 2024", "2021"),
    ("2024-01-02", "2021"),
    ("March 5", "March 5, 2024"),
    ("March", "May"),
    ("March", "March 5"),
    ("01/02/2024", "02/01/2024"),
    ("01/02/2024", "1/4048"),
    ("5 PM", "5 AM"),
    ("12:00 PM", "12:00 AM"),
    ("3", "three blind mice"),
    ("3", "three or four"),
    ("2 hours 30 minutes", "2 hours 20 minutes"),
    ("5'6\"", "5'7\""),
    ("10 boys and 5 girls", "5 boys and 10 girls"),
    ("5 kg", "5 km"),
    ("90°", "90 rad"),
    ("5 dB", "5 dm"),
    ("1 lb", "1 oz"),
    ("20 and 5", "twenty-five"),
    ("5 cm", "5 cm, 6 cm"),
    (r"\sin 30^\circ", r"30^\circ"),
    ("once more", "11"),
    (r"\$5", r"\$5 million"),
    ("5 m", "5 x"),
    ("2 x", "2 y"),
    ("16 ft", "16 ft²"),
    ("4:30", "4:31"),
    ("I have 5 m", "5"),
    ("one", "two"),
    ("a", "1"),
    ("three or four", "3"),
];

fn equal(gold: &str, answer: &str) -> bool {
    equivalent(gold, answer, &Options::default()).equal
}

#[test]
fn texts_that_say_the_same() {
    let mut wrong = Vec::new();
    for (class, texts) in SAME {
        let Some((first, rest)) = texts.split_first() else {
            continue;
        };
        for other in rest.iter().chain([first]) {
            for (gold, answer) in [(first, other), (other, first)] {
                if !equal(gold, answer) {
                    let rule = equivalent(gold, answer, &Options::default());
                    wrong.push(format!("{class}: {gold} against {answer} ({rule:?})"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn texts_that_do_not() {
    let mut wrong = Vec::new();
    for (a, b) in DIFFERENT {
        for (gold, answer) in [(a, b), (b, a)] {
            if equal(gold, answer) {
                let rule = equivalent(gold, answer, &Options::default());
                wrong.push(format!("{gold} against {answer} ({rule:?})"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
}
