"""Words that tell gender and number: pronouns, titles, nouns for people, common first names."""

from __future__ import annotations

# Pronoun → (citation form, gender, number, person). Gender: m, f, n (thing), a (a person, either), or "" unknown.
PRONOUNS: dict[str, tuple[str, str, str, str]] = {}
for _forms, _said in (
    ("i me my mine myself m'", ("i", "a", "s", "1")),
    ("we us our ours ourselves 's-us", ("we", "a", "p", "1")),
    ("you your yours yourself yourselves ya y' u ur thou thee thy", ("you", "a", "", "2")),
    ("he him his himself 'im", ("he", "m", "s", "3")),
    ("she her hers herself", ("she", "f", "s", "3")),
    ("it its itself 't", ("it", "n", "s", "3")),
    ("they them their theirs themselves themself 'em", ("they", "", "p", "3")),
    ("this", ("this", "n", "s", "3")),
    ("that", ("that", "n", "s", "3")),
    ("these", ("these", "", "p", "3")),
    ("those", ("those", "", "p", "3")),
    ("who whom whose whoever", ("who", "a", "", "3")),
    ("which what whatever", ("which", "n", "", "3")),
    ("one oneself", ("one", "", "s", "3")),
):
    for _form in _forms.split():
        PRONOUNS[_form] = _said

CITATIONS = tuple(dict.fromkeys(said[0] for said in PRONOUNS.values()))

MALE = frozenset(
    """man men boy boys father fathers dad daddy papa brother brothers son sons husband husbands uncle uncles grandfather
    grandpa nephew king kings prince princes duke emperor lord sir mr mr. mister gentleman gentlemen guy lad fellow monk
    priest bishop pope actor waiter widower bachelor chairman spokesman congressman businessman policeman salesman
    fisherman groom wizard godfather stepfather grandson boyfriend count baron knight
    james john robert michael william david richard joseph thomas charles christopher daniel matthew anthony mark donald
    steven paul andrew joshua kenneth kevin brian george timothy ronald edward jason jeffrey ryan jacob gary nicholas eric
    jonathan stephen larry justin scott brandon benjamin samuel gregory alexander frank patrick raymond jack dennis jerry
    tyler aaron jose henry adam douglas nathan peter zachary kyle walter harold carl arthur roger albert lawrence louis
    simon philip oscar victor ernest leonard francis fred frederick alan martin ivan bob bill jim joe tom tim sam ben dan
    mike matt steve chris nick tony harry max leo hugo felix karl hans pierre jean juan carlos luis pedro antonio mohamed
    muhammad ali ahmed omar hassan vladimir boris sergei dmitri giovanni marco paolo""".split()
)
FEMALE = frozenset(
    """woman women girl girls mother mothers mom mum mommy mummy mama sister sisters daughter daughters wife wives aunt
    aunts grandmother grandma niece queen queens princess duchess empress lady ladies madam ma'am mrs mrs. ms ms. miss
    nun actress waitress widow bride witch godmother stepmother granddaughter girlfriend chairwoman spokeswoman
    congresswoman businesswoman countess baroness heroine hostess goddess
    mary patricia jennifer linda elizabeth barbara susan jessica sarah karen lisa nancy betty sandra margaret ashley
    kimberly emily donna michelle carol amanda melissa deborah stephanie rebecca sharon laura cynthia dorothy amy kathleen
    angela shirley brenda emma anna pamela nicole samantha katherine christine helen debra rachel carolyn janet maria
    catherine heather diane olivia julie joyce victoria ruth virginia lauren kelly christina joan evelyn judith andrea
    hannah jacqueline martha gloria teresa ann anne sara madison frances kathryn janice jean alice julia grace judy sophia
    rose beth kate jane lucy ellen claire charlotte clara eva irene louise marie sophie isabella sabrina fatima aisha
    natasha olga svetlana francesca giulia carmen pauline phoebe jenny zoe""".split()
)
PERSON = frozenset(
    """person people child children kid kids baby friend friends student students teacher teachers doctor doctors
    professor researcher researchers scientist scientists author authors writer artist artists president minister
    senator judge lawyer attorney officer soldier soldiers player players singer leader leaders member members worker
    workers neighbor neighbour parent parents couple somebody someone anybody anyone everybody everyone nobody adult
    adults citizen citizens patient patients participant participants speaker user users driver owner manager director
    engineer nurse poet composer musician politician governor mayor captain colonel general victim passenger""".split()
)
TITLES = frozenset("mr mr. mrs mrs. ms ms. miss dr dr. prof prof. sir lord lady president senator king queen".split())
