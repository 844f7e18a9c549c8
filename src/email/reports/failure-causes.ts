/** What mail systems give as the cause of a failure, as data: by the words of the server (see failure-phrases.ts) and by its codes. */
import { anyOf } from './failure-phrases.ts'

/** hard: the address takes no mail. soft: it may later. block: the server refuses the sender. policy: the server refuses this mail. */
export const BOUNCE_KINDS = ['hard', 'soft', 'block', 'policy'] as const
type BounceKind = (typeof BOUNCE_KINDS)[number]

export interface Cause {
  kind: BounceKind
  /** For users, in plain words. */
  reason: string
}

export type CausesByCode = readonly (readonly [prefix: string, cause: Cause])[]

interface CauseOfFailure extends Cause {
  phrases: RegExp
}

const FULL = 'The mailbox is full'
const TOO_LARGE = 'The mail is too large for the recipient'
const UNKNOWN_ADDRESS = 'The address does not exist'
const UNKNOWN_DOMAIN = 'The domain does not exist or takes no mail'
const DISABLED = 'The mailbox is disabled'
const MOVED = 'The address has moved'
const UNREACHED = 'The server could not be reached, or did not take the mail in time'
const CIRCLE = 'The mail went in a circle between servers'
const SENDER_REFUSED = 'The server refused the sender'
const RULE = "The mail breaks a rule of the recipient's server"
const LATER = 'The server asks to try again later'

/** The nouns for what an address names. */
const MAILBOX =
  '(user|recipient|address|mail ?box|account|alias|addressee|customer|subscriber|member|destination|e-?mail|inbox|' +
  'mail ?drop|person|local part|login|username|user ?id|screenname|profile|handle)'
const IS_UNKNOWN = '(unknown|non-?existent|unrecogni[sz]ed|unavailable|invalid|incorrect|undeliverable|unreachable)'
/** The nouns for the server of an address, and for the one that sends. */
const HOST = '(host|domain|domain name|mail exchanger|system)'
const NAMED_HOST = '(host|domain|mail domain|mail exchanger|hostname|mx)'
const SENDING_HOST = String.raw`(\bip\b|host|client|your server|connection|network|netblock)`

/** The causes by phrase. An earlier line wins, because its phrases are more definite. */
export const CAUSES: readonly CauseOfFailure[] = [
  {
    kind: 'soft',
    reason: FULL,
    phrases: anyOf(String.raw`
    (mail ?box|inbox|mail ?folder|mail ?store|spool|mail directory|account|user)( is| has)? *\bfull\b; full (mailbox|inbox);
    over (the |its |his |their )?(allowed |disk |mail |storage )*quota;
    (quota|disk ?space|storage|mailbox( size)?|space)\b * (exceed|exhausted|full|overdrawn|over limit|limit reached);
    (exceed|exhaust|overdrawn|out of|insufficient|not enough|no)\w* * (quota|disk ?space|storage|space left|mailbox space);
    mail ?box * (size limit|too large|no space|over limit|exceed);
    (mailbox|account|user) has (reached|exceeded) * (limit|quota|size|space); postfach * voll; boîte * pleine;
    buz[óo]n * (lleno|excedid); casella * piena; skrzynka * (pełna|przepełn); переполнен; превышен * квот; メールボックスが(一杯|いっぱい);
    (postkass|postboks|brevlåd|inkorg|innboks)\S* * ful[dl]; postilaatikko * täynnä; schránk\S* * (pln|přeplněn);
    postafiók * (megtelt|tele);
    (скриньк|ящик)\S* * переповнен; (posta kutusu|kota)\S* * (dolu|aşıl); căsuța * plină; γραμματοκιβώτιο * γεμάτο;
    容量 ?.{0,12}(超|オーバー); (邮箱|信箱|空间).{0,12}(满|滿|不足); (메일함|사서함|편지함|용량).{0,12}(가득|초과|부족)
  `),
  },
  {
    kind: 'policy',
    reason: TOO_LARGE,
    phrases: anyOf(String.raw`
    (message|mail|body|attachments?|content|size|file) * (too (big|large)|(?<!queue )too long|larger than);
    (message|mail|body|attachments?|content|size|file) * exceed\w* * (size|limit|maximum|length);
    (exceed|over|larger)\w* * (maximum|max|fixed|allowed|permitted) * (size|length); (message|mail)? ?size (limit|exceed|violat);
    too (big|large) (a )?(message|mail|for); größe * überschr; taille * dépass; tamaño * exced; nachricht * zu groß
  `),
  },
  {
    kind: 'policy',
    reason: 'The mail failed the checks of its sender (SPF, DKIM or DMARC)',
    phrases: anyOf(String.raw`
    \bdmarc\b; \b(spf|dkim)\b * (fail|not|reject|check|error|invalid|record|violat|policy|missing|pass);
    (fail|not|reject|violat|unauthori[sz]ed|mismatch) * \b(spf|dkim)\b; openspf; sender policy framework; domainkey;
    unauthenticated (e-?mail|mail|sender); sender ?id * fail; not (authori[sz]ed|permitted|allowed) to send * (on behalf|from|for);
    forged; spoof
  `),
  },
  {
    kind: 'soft',
    reason: 'There was too much mail at once',
    phrases: anyOf(`
    throttl; rate ?-?limit;
    (exceed|too many|too much|maximum) * (connections|messages|mails?|recipients|sessions|per (hour|minute|day)|sending rate|unknown);
    too (fast|frequent|quickly); receiving mail at a rate; (sending|receiving|hourly|daily) * (limit|quota) * exceed; concurrency
  `),
  },
  {
    kind: 'soft',
    reason: LATER,
    phrases: anyOf(`gr[ea]y-?list; temporar(y|ily) (reject|refus|block|defer|suspend); anti-?spam delay`),
  },
  {
    kind: 'block',
    reason: "The server refuses this sender's server",
    phrases: anyOf(String.raw`
    (black|block|deny|real-?time)[ -]?(hole )?list; \b(r|d?ns|ip)[bw]l\b; \bdnsbl\b; spamhaus; spamcop; barracuda(central|networks);
    sorbs; uceprotect; sender(score|base); trustedsource; cloudmark; proofpoint; abuseat; reputation;
    ${SENDING_HOST} * (is|are|was|been|being|currently|temporarily|permanently) (blocked|banned|black|listed|refused|rejected|denied);
    blocked( -)? (by|using|for|due|because|from|see); (blocked|banned|rejected|refused) (your|this) (ip|mail|server|host); \bptr\b;
    reverse ?-?(dns|lookup|hostname|mapping); \brdns\b; (client )?host(name)? rejected;
    (helo|ehlo) * (reject|invalid|mismatch|not|bad|fail|wrong|need|command|own|dynamic); dynamic(ally)? * (ip|address|pool);
    dial-?up; cannot find your (reverse )?host; (access|connection|service) (denied|refused|rejected) * \b(ip|host|client|your)\b;
    (your|the|sending) (ip|mail ?server|mta|network) * not (allowed|accepted|authori[sz]ed|permitted);
    (your|the|sending) (ip|mail ?server|mta|network) * (reject|refus|den(y|ied)|block|bann?ed);
    part of their network
  `),
  },
  {
    kind: 'policy',
    reason: 'The mail was taken for spam',
    phrases: anyOf(String.raw`
    \bspam(my|ming|assassin|-?like)?\b; unsolicited; junk ?-?mail; bulk ?-?mail; \bu[cb]e\b; phish; bayes; suspected; 垃圾; спам;
    迷惑メール
  `),
  },
  {
    kind: 'policy',
    reason: 'The mail was taken for harmful',
    phrases: anyOf(`
    virus; malware; infected; trojan; malicious; banned (file|content|attachment|type); banned:? \\.\\w+;
    (attachment|executable|extension) * (not (allowed|accepted|permitted)|block|forbid|prohibit|reject|banned|illegal);
    not accepting mail with attachments
  `),
  },
  {
    kind: 'block',
    reason: SENDER_REFUSED,
    phrases: anyOf(String.raw`
    \bsender\b(?! (is|was) not authenticated) * (reject|den(y|ied)|refus|block|invalid|not|verif|unknown|bad|ban|illegal|domain|exist);
    (reject|den(y|ied)|refus|block|invalid|bad|verif|unknown|illegal|malformed|unroutable|domain of|legal) * \bsender;
    \bsender address; (mail from|envelope from|return[- ]path|from address|from header) * (reject|den|refus|invalid|not|block|exist);
    (not|invalid|valid|bad|addresses in) * from (header|address|domain); from:? header; identities failed the check
  `),
  },
  {
    kind: 'policy',
    reason: 'The recipient takes mail from certain senders only',
    phrases: anyOf(String.raw`
    only * (authenticated|internal|authori[sz]ed|approved|known) * (allowed|permitted|accepted|can);
    restricted * (recipient|sender|address|group|distribution);
    (you|sender)('re)?( are| is| do|) ?(not|n't) * (permission|permitted|allowed|authori[sz]ed) * (send|post|mail|this);
    not authenticated; resolver\.rst; (members|subscribers) only; only (members|subscribers); may not post; n't have permission;
    group * (not accept|may not|permission); requires? (approval|moderat);
    not (accept|accepting) * (mail|messages?) from (you|this|unknown|outside|external); (delivery|sender) not authori[sz]ed
  `),
  },
  {
    kind: 'hard',
    reason: MOVED,
    phrases: anyOf(`
    ${MAILBOX} * has (been )?(moved|changed|relocated); no longer (at|with) * (please|new|use|try|contact); address change;
    forwarding (address|time) * expired
  `),
  },
  {
    kind: 'hard',
    reason: DISABLED,
    phrases: anyOf(String.raw`
    ${MAILBOX} * (disabled|inactive|not active|suspend|de-?activated|closed|locked|frozen|dormant|retired|discontinued|terminated);
    ${MAILBOX} * (cancell?ed|on hold|not (been )?activated|been (deleted|removed|expired));
    (disabled|inactive|suspended|de-?activated|closed|locked|frozen|expired|terminated|deleted) (\w+ )?${MAILBOX};
    no longer (active|in use|in service|used|valid|available|accept); is no longer (on|at|with|here|an? ); address rejected: on hold;
    konto * (deaktiviert|gesperrt|nieaktywn|zablokowan); compte * (désactivé|suspendu); cuenta * (desactivad|suspendid|inactiv);
    conta * (desativad|inativ); (аккаунт|ящик|пользовател)\S* * (заблокирован|отключ|удал|неактивен);
    (账号|帐户|用户|账户).{0,10}(停用|禁用|冻结|锁定)
  `),
  },
  {
    kind: 'policy',
    reason: 'The server does not take mail for this domain from this sender',
    phrases: anyOf(String.raw`
    relay(ing|ed)? * (den|not|prohibit|reject|disallow|restrict|forbidden|refus|unable|block);
    (not|no|unable|den(y|ied)|refuse|cannot|prohibit|forbidden|configured)\w* * relay; rcpthosts;
    (isn't|not) (one of|in) (my|our|the) (list|local); (don't|do not|does not) (handle|relay); not a gateway; open relay
  `),
  },
  { kind: 'soft', reason: CIRCLE, phrases: anyOf(String.raw`\bloop; too many (hops|received); hop ?count; hops? (exceed|limit)`) },
  {
    kind: 'hard',
    reason: UNKNOWN_DOMAIN,
    phrases: anyOf(String.raw`
    ${HOST}( name)?( \S+)? (not found(?!, try)|unknown|does(n.t| not) exist|not exist|is not (valid|known)|is (bad|wrong));
    ${HOST}( name)?( \S+)? (could not be (found|resolved|located)|not accept mail);
    (unknown|no such|non-?existent|invalid|unrout(e)?able|unresolvable|bad) (\w+ )?${NAMED_HOST};
    (couldn't find any|could not find any|can't find|cannot find|unable to (find|resolve)) (\w+ )?${NAMED_HOST};
    unroute?able mail domain; nxdomain; null mx; no smtp service; \bno mx\b; all relevant mx records point to non-?existent;
    domain * (existiert nicht|n.existe pas|no existe|nie istnieje)
  `),
  },
  {
    kind: 'hard',
    reason: UNKNOWN_ADDRESS,
    phrases: anyOf(String.raw`
    ${MAILBOX}( name)?(\(?e?s\)?)?( \S+)?[: ]( is| are| was| were)? ?${IS_UNKNOWN};
    ${MAILBOX} * not (be )?(found|known|exist|valid|recogni[sz]ed|listed|located|local|registered|enrolled|here);
    ${MAILBOX} * (isn't (here|known|valid)|doesn't exist|does not exist|do not exist|unknown);
    (unknown|no such|invalid|not an?( valid| known| local)?|illegal|non-?existent) (\w+ )?${MAILBOX};
    (no valid|undefined|wrong|unrecogni[sz]ed|unroute?able|ambiguous|no matching) (\w+ )?${MAILBOX};
    \bno ${MAILBOX}\b; (user|mailbox)(unknown|unavailable); nosuch(user|mailbox); unknown or illegal alias; user doesn't;
    no such (person|name|local|id); no valid recipients; user ?ids?:; recipient address rejected: access denied; recipnotfound;
    resolver\.adr; (doesn't|does not|don't) have an? * account; no (mailbox|account) (here|by); not our customer; not listed in;
    (name|recipient) is not recogni[sz]ed; no longer (here|works);
    (cannot|could not|unable to|not) (find|verify|validate|locate) * (user|mailbox|recipient|address); address (lookup )?failed;
    unknown local;
    (empfänger|benutzer|adresse|postfach|teilnehmer)\S* * (unbekannt|existiert nicht|nicht (gefunden|bekannt|vorhanden)|ungültig);
    (destinataire|utilisateur|adresse|compte|boîte) * (inconnu|introuvable|n.existe|invalide|inexistant);
    (usuario|destinatario|direcci[óo]n|cuenta|buz[óo]n|endereço|usu[áa]rio|conta) * (desconocid|desconhecid|inexistente|inv[áa]lid);
    (usuario|destinatario|direcci[óo]n|cuenta|buz[óo]n|endereço|usu[áa]rio|conta) * (no existe|n[ãa]o existe|encontrad);
    (utente|destinatario|casella|indirizzo) * (sconosciut|non (esiste|valid|trovat)|inesistent);
    (gebruiker|ontvanger|adres|postbus) * (onbekend|bestaat niet|niet gevonden|ongeldig);
    (użytkownik|uzytkownik|adres|skrzynka|konto|odbiorc)\S* * (nieznan|nie istnieje|nie znaleziono|brak); nie ma takiego;
    (пользовател|адрес|ящик|получател)\S* * (не (найден|существует|зарегистрирован)|неизвест|отсутств);
    (користувач|адрес|скриньк|одержувач|отримувач)\S* * (не (існує|знайден)|невідом);
    (schránk|uživatel|používateľ|adres|příjemc|príjemc)\S* * (neexistuj|neznám|nenalezen|nenájden);
    (mottagare|användare|adress|konto)\S* * (finns inte|existerar inte|okänd);
    (modtager|mottaker|bruger|bruker|adresse|konto)\S* * (fin[dn]es ikke|eksisterer ikke|ukendt|ukjent);
    (osoite|vastaanottaj|käyttäj|tili)\S* * (ei ole|ei löydy|tuntematon);
    (felhasználó|címzett|postafiók|cím)\S* * (nem (létezik|található|ismert)|ismeretlen);
    (kullanıcı|alıcı|adres|hesap)\S* * (yok|bulunamadı|bilinmiyor|mevcut değil|geçersiz);
    (utilizator|destinatar|adres)\S* * (nu există|necunoscut|inexistent); (χρήστης|παραλήπτης|διεύθυνση) * (δεν (υπάρχει|βρέθηκε)|άγνωστ);
    так(ого|ой) * (пользовател|адрес|ящик); (宛先|あて先|アドレス|ユーザ|受信者).{0,40}(存在|不明|見つかり|ありません|間違);
    (收件人|用户|账号|帐号|邮箱|地址|帳號).{0,20}(不存在|不正确|无效|找不到); (사용자|수신자|주소|계정).{0,20}(없|존재하지)
  `),
  },
  {
    kind: 'soft',
    reason: UNREACHED,
    phrases: anyOf(String.raw`
    time(d)?[ -]?out; connection (refused|reset|lost|closed|timed|dropped|failed|to * (failed|refused|lost));
    (could|can|did)( ?not|n't) (be )?(connect|reach|contact|establish|open|respond); unable to (connect|reach|contact|establish);
    did(n't| not) accept our requests to connect; unreachable; not (responding|respond); no (answer|response|route); unexpectedly;
    (host|network|server|service|site|destination|system) (is )?(currently |temporarily )?(down|unavailable|not available);
    retry time; (queue|message|mail|delivery|retry|time) * (expired|too long|limit); message expired; too old;
    (for|after|within|past|last) \d+(\.\d+)? (days?|hours?|minutes?); \btls\b; \bssl\b; starttls;
    name (service|server) (error|failure); (dns|host name|name) * (lookup|query|resolution) * (fail|error|fail); try again; temporar;
    transient; try (again )?later; deferred; broken pipe; resources? (temporar|unavail|exhaust); not accepting connections
  `),
  },
]

/** Phrases that say less than an enhanced status code, if there is one. */
export const VAGUE_CAUSES: readonly CauseOfFailure[] = [
  { kind: 'hard', reason: UNKNOWN_ADDRESS, phrases: anyOf(`recipient address rejected; does(n.t| not) exist`) },
  {
    kind: 'block',
    reason: SENDER_REFUSED,
    phrases: anyOf(String.raw`
    access denied; \bblocked; \bbanned; administrative(ly)? prohibit; not (accept|want|welcome) * (mail|messages?) (from )?you
  `),
  },
  {
    kind: 'policy',
    reason: RULE,
    phrases: anyOf(
      `polic(y|ies); content; not (allowed|accepted|permitted); prohibited; filter; violat; security; forbidden; syntax; malformed`,
    ),
  },
]

/** The status codes that are about the sender, whatever the words say. */
export const CAUSES_OF_SENDER: CausesByCode = [
  ['5.1.7', { kind: 'block', reason: SENDER_REFUSED }],
  ['5.1.8', { kind: 'block', reason: SENDER_REFUSED }],
]

/** The causes by enhanced status code, for failures in whose words no phrase is known. The first prefix counts. */
export const CAUSES_BY_STATUS: CausesByCode = [
  ['5.1.6', { kind: 'hard', reason: MOVED }],
  ['5.1.10', { kind: 'hard', reason: UNKNOWN_DOMAIN }],
  ['5.1.2', { kind: 'hard', reason: UNKNOWN_DOMAIN }],
  ['5.1.', { kind: 'hard', reason: UNKNOWN_ADDRESS }],
  ['5.2.1', { kind: 'hard', reason: DISABLED }],
  ['5.2.2', { kind: 'soft', reason: FULL }],
  ['5.2.3', { kind: 'policy', reason: TOO_LARGE }],
  ['5.3.4', { kind: 'policy', reason: TOO_LARGE }],
  ['5.4.4', { kind: 'hard', reason: UNKNOWN_DOMAIN }],
  ['5.4.6', { kind: 'soft', reason: CIRCLE }],
  ['5.4.', { kind: 'soft', reason: UNREACHED }],
  ['5.6.', { kind: 'policy', reason: RULE }],
  ['5.7.', { kind: 'policy', reason: RULE }],
  ['4.2.2', { kind: 'soft', reason: FULL }],
  ['4.', { kind: 'soft', reason: UNREACHED }],
]

/** The causes by reply code, for failures without any other hint. */
export const CAUSES_BY_REPLY: CausesByCode = [
  ['4', { kind: 'soft', reason: LATER }],
  ['552', { kind: 'soft', reason: FULL }],
]
