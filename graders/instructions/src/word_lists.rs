//! Lists of words that rules refer to by name.

/// The lists, with their words separated by spaces.
const LISTS: &[(&str, &str)] = &[
    ("stop_words", STOP_WORDS),
    ("pronouns", PRONOUNS),
    ("conjunctions", "and but for nor or so yet"),
    ("person_names", PERSON_NAMES),
    ("verbs", VERBS),
];

/// The words of a list.
pub(crate) fn named(name: &str) -> Option<&'static str> {
    LISTS
        .iter()
        .find(|(known, _)| *known == name)
        .map(|(_, words)| *words)
}

/// The names of all lists.
pub(crate) fn names() -> Vec<&'static str> {
    LISTS.iter().map(|(name, _)| *name).collect()
}

/// Function words of English. Contractions are in their parts, because an apostrophe ends a word.
const STOP_WORDS: &str = "a about above after again against ain all am an and any are aren as at \
    be because been before being below between both but by can couldn d did didn do does doesn \
    doing don down during each few for from further had hadn has hasn have haven having he her \
    here hers herself him himself his how i if in into is isn it its itself just ll m ma me \
    mightn more most mustn my myself needn no nor not now o of off on once only or other our ours \
    ourselves out over own re s same shan she should shouldn so some such t than that the their \
    theirs them themselves then there these they this those through to too under until up ve very \
    was wasn we were weren what when where which while who whom why will with won wouldn y you \
    your yours yourself yourselves";

/// Pronouns of English.
const PRONOUNS: &str = "i me we us you he him she her it they them my mine our ours your yours his \
    hers its their theirs myself ourselves yourself yourselves himself herself itself themselves \
    this that these those who whom whose which what whoever whomever whatever whichever anybody \
    anyone anything everybody everyone everything nobody nothing somebody someone something each \
    either neither both all some any none";

/// The names of persons of `count:person_names`.
const PERSON_NAMES: &str = "Emma Liam Sophia Jackson Olivia Noah Ava Lucas Isabella Mason Mia \
    Ethan Charlotte Alexander Amelia Benjamin Harper Leo Zoe Daniel Chloe Samuel Lily Matthew \
    Grace Owen Abigail Gabriel Ella Jacob Scarlett Nathan Victoria Elijah Layla Nicholas Audrey \
    David Hannah Christopher Penelope Thomas Nora Andrew Aria Joseph Claire Ryan Stella Jonathan";

/// Verbs that texts in English often start with. Forms in `ing` are recognised by their ending.
const VERBS: &str = "accept access add adjust advise agree aim allow analyze answer appear apply \
    approach arrange ask assess assign assume attempt avoid bake balance be become begin believe \
    blend boil book bring browse build buy calculate call can capture carry cast catch celebrate \
    change charge chase check choose clean clear click climb close collect combine come compare \
    compile complete compute conduct confirm connect consider consult contact continue convert \
    cook copy count cover craft create cultivate cut dance deal decide define deliver describe \
    design determine develop did discover discuss divide do does draw dream drink drive drop eat \
    edit embrace employ enable encourage engage enhance enjoy ensure enter envision establish \
    evaluate examine expand expect experience experiment explain explore express extract face feel \
    fill find finish fix fly focus follow forget form gather generate get give go grab grind grow \
    handle happen has have head hear help hold identify ignite ignore illustrate imagine implement \
    improve include incorporate increase indulge insert install introduce invest investigate \
    invite is join journey jump keep know launch lead learn leave let lie list listen live load \
    locate look lose love maintain make manage map mark master may measure meet mix modify monitor \
    move must navigate need note notice observe obtain offer open optimize order organize outline \
    pack participate pay perform pick picture place plan plant play pour practice prepare present \
    press prevent print proceed process produce promote protect prove provide pull purchase push \
    put read realize recall receive recognize record reduce refer reflect remember remove repeat \
    replace reply report request require research resolve respect respond rest return review ride \
    rise run save say search see seek select sell send serve set share should show simplify sing \
    sit skip sleep solve speak spend stand start state stay step stir stop store study submit \
    suggest support suppose take talk taste teach tell test thank think throw touch track train \
    transform travel treat trust try turn type understand unleash unlock update use utilize verify \
    view visit wait wake walk want was watch wear welcome were will win wish witness wonder work \
    would wrap write";
