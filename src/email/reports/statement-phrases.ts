/**
 * The words by which a sentence of a notice says what became of a mail, as data, in the languages of mail servers. They are compared with
 * folded text (folded-text.ts). Phrases are separated by semicolons, as in failure-phrases.ts.
 */
import { folded } from '../../platform/folded-text.ts'
import { sourceOf } from './failure-phrases.ts'

/** A phrase begins with a word. Scripts without spaces between words are not in the lookbehind. */
const anyOf = (phrases: string) =>
  new RegExp(`(?<![\\p{Script=Latin}\\p{Script=Cyrillic}\\p{Script=Greek}])(?:${folded(sourceOf(phrases))})`, 'iu')

/** A notice that is only a warning, and after which nobody needs to do anything. It is about all recipients. */
export const WARNING = anyOf(String.raw`
    (this|it) is (just |only )?a warning( message)?( only)?\b; warning( message)?,? only; only a warning;
    (need|have|required) not (to )?re-?send; not (need|have|necessary|required) to re-?send; no need to re-?send; (do not|don't) re-?send;
    no (further )?action is (required|needed|necessary); (not|\w+n't) (need|have|required) to (do anything|take (any )?action);
    nicht (noch ?mals|erneut|noch einmal) (zu )?(ver)?(senden|schicken|gesendet);
    (keine|keinerlei) (weitere )?(aktion|massnahme|handlung)\S* \S*\s?(erforderlich|notwendig|notig);
    (nur|lediglich) (um )?(eine )?warnung; ist (nur )?eine warnung; mussen (sie )?nichts (weiter )?(tun|unternehmen);
    (necessaire|besoin|utile) (de |d['’])(le |la |les )?(renvoyer|reexpedier|reenvoyer);
    (ne|n['’])\S* pas (le |la |votre message )?(a )?(renvoyer|reexpedier);
    aucune action\S* (n['’]est |de votre part )*(requise|necessaire); (simple|seulement|juste) (un )?avertissement;
    no (es necesario|necesita|hace falta|tiene que|debe) (que )?(lo )?(vuelva|volver|reenvi|enviar);
    (solo|unicamente) (es )?una advertencia; nao (e necessario|precisa|e preciso) (de )?(re)?envi; apenas um aviso;
    non e necessario (re|rin|ri)?(inviare|spedire|inviarlo); solo un avviso; niet (opnieuw|nogmaals) te (ver)?(zenden|sturen)\b;
    (alleen|slechts) een waarschuwing; inte (att )?skicka (om|det igen); bara en varning;
    ikke (at )?(gen)?sende (meddelelsen|meldingen|beskeden|den) (igen|pa nytt|en gang); kun en advarsel; ei tarvitse lahetta;
    vain varoitus; nie (musisz|trzeba|ma potrzeby|jest konieczne) \S*\s?(ponown\S*|wysyla\S*); tylko ostrzezenie;
    (neni|nen[ií]) (treba|nutne|potreba) (zpravu )?(znovu|odesilat|posilat); pouze varovani;
    nie je (potrebne|nutne) (spravu )?(znova|znovu|odosielat|posielat); iba upozornenie;
    nem (kell|szukseges) (a )?(level\S* |uzenet\S* )?(ujra|ismet); csak (egy )?figyelmezt;
    nu (este necesar|trebuie|e nevoie) sa (re)?trimit; doar un avertisment; δεν (χρειαζεται|απαιτειται) να (ξανα)?στειλ;
    μονο προειδοποιηση; не (нужно|надо|требуется|следует|обязательно) (\S+ )?(повторно|снова|заново|еще раз|отправлять|пересылать);
    (только|лишь) предупрежд; это предупреждение; не (потрібно|треба) (\S+ )?(повторно|знову|надсилати); лише попередж;
    не е (нужно|необходимо) да (\S+ )?(изпра|препра); само предупрежд; (yeniden|tekrar) gondermen\S* (gerek|ihtiyac)\S*;
    yalnizca (bir )?uyari; sadece (bir )?uyari; (再送|再度送信|もう一度送|再送信).{0,6}必要は(ありません|ない|ございません); 警告(のみ|だけ|です);
    (无需|無需|不需要|不必|无须|無須|不用).{0,6}(重新|再次|重|再)(发|發|寄|投|傳|传); (다시|재).{0,3}(보내|전송|발송)\S* 필요(가|는)? ?(없|업)
  `)

/** A mail that is not delivered yet. */
export const NOT_YET = anyOf(String.raw`
    not (yet )?(been )?(deliver|sen[dt])\w*( \w+){0,2} (yet|so far|until now)\b; not yet (been )?(deliver|sen[dt]|reach);
    \w+n't (yet )?been delivered yet; non-?fatal; still undelivered;
    (cannot|could not|unable to) (send|deliver) (message|mail|e-?mail) for (the )?past;
    remains? (undelivered|queued|in the (mail )?queue); still (is )?(in the (mail )?queue|queued|pending|on its way|waiting|being held);
    undelivered after \d; delivery incomplete;
    (deliver\w*|messages?|mails?|e-?mails?)( to [^.]{0,60})?( (is|are|was|were|has|have|been|being|will be|currently))* (delayed|
      deferred|postponed); still not (been )?delivered; delayed (mail|deliver|message|e-?mail|notif|to (the|these|this|following));
    delivery delay; message delay; \(delay(ed)?[)\s]; transient (non-?fatal )?errors;
    (noch|bisher|bislang) nicht (\S+ ){0,3}?(zugestellt|zustell|ubermittelt|ausgeliefert|gesendet|moglich|werden); \S*verzoger; retarde;
    en retard; retard (de|dans); differe(e|es|s)?\b; (pas|point) encore (ete|pu|remis|distribu|livr|deliv|achemin);
    toujours en (attente|file|cours); retras(ad|o|o\b|ar); demor(a|ad)\b; demorad; aplazad; diferid;
    (aun|todavia) no (se )?(ha|pudo|fue|puede|pod); no (se )?ha\S* (sido )?(podido )?(entrega\S*|envia\S*) (aun|todavia); atrasad;
    \batraso\b; adiad[oa]; ainda nao (foi|foram|pode|p[oô]de); nao (foi|foram) \S* ?ainda; ritardo; ritardat; differit[oa];
    non (e|sono) (\S+ )?ancora; (non )?ancora (stat|non)\S*; vertraag; vertraging;
    nog niet (bezorgd|afgeleverd|kunnen|verzonden|worden|kon); fordroj; forsenad; forsening; (annu|an) inte (levere|kunn|har|nat);
    inte \S*\s?(levere\S*|kunnat \S+) (annu|an)\b; forsink; (enda|endnu|enna|enn[ao]) ikke (bliv|blev|blitt|lever|kun|aflever);
    ikke (\S+ )?(enda|endnu|enna)\b; viivasty; viivast; myohast; (viela|toistaiseksi) ei (ole|voi); ei (ole |voitu )?(viela|toistaiseksi);
    opozni; (jeszcze|dotad|dotychczas) nie (zosta|uda|dostarcz|mog); nie (zosta\S+ |uda\S+ sie )?(jeszcze|dotad|dotychczas); zpozd;
    zpozden; opozd; odlozen; (dosud|zatim|jeste|doposud) (se )?ne; oneskor; meska; (zatial|doteraz|este|dosial) (sa )?ne; kesik; keses;
    kesve; kesleltet; (meg|egyelore|eddig|mostanaig) nem (siker|kezbes|lett|kerul|tud); intarzi; amanat; inca nu (a|au|s-a|poate);
    nu (a|au|s-a) (fost )?(\S+ )?inca; καθυστερ; ακομ[ηα] δεν; δεν (εχει )?ακομ[ηα]; задерж; отложен;
    (пока|еще|до сих пор) не (был|доставл|удал|може|получ); не (был\S* )?(еще|пока)( не)? доставл; затрим; відкладен;
    (ще|поки|досі|поки що) не (був|було|була|доставл|вдал|можна); не (був\S* )?ще доставл; забав[еия]; закъсн;
    (още|все още) не (е|беше|може|са); не (е|са) (още|все още) достав; gecik; ertelen; henuz (teslim|ilet|gonder|ulas); 遅延; 遅れ(て|が|る);
    まだ.{0,12}(配信|配送|送信|配達|届).{0,10}(ません|ない|いない); 未配信; 延迟; 延遲; 延误; 延誤; 推迟; 推遲; 暂缓;
    (尚|还|還|仍|暂|暫)(未|没有|沒有|没|沒).{0,6}(送达|投递|发送|送達|投遞|傳遞|传递|传送|傳送|寄达|成功); 지연; 보류; 아직 .{0,10}(전달|배달|전송|발송|도착).{0,10}(않|못)
  `)

/** Attempts that go on. A negation beside the words says that they do not. */
export const RETRIED = anyOf(String.raw`
    (will|shall|\w+'ll) (be |still |automatically |also |now |then )*(re-?tried|tried again|attempted again|re-?attempted|retry|
      re-?attempt)\b; (will|shall|\w+'ll) (be )?(still )?(continue|keep|go on|carry on)\b;
    (will|shall|\w+'ll) (automatically |periodically |still )?(try|attempt) (again|to (deliver|send|re)|it|delivery|for|until);
    (attempts?|tries|deliver\w*|retries) (\w+ ){0,4}(will|to) (be )?(continue|keep|go on|repeated|made|attempted|be made|resume)\w*;
    (keeps?|continues?|continuing|continued) (on )?(to )?(re-?)?(try|attempt)\w*; still (be(ing)? )?(re-?)?(try|trie|attempt)\w*;
    (queued|scheduled|waiting|pending) for (re-?)?(try|delivery|transmission)\w*;
    (next|another|further|more) (delivery )?(attempt|retry|try)s? (\w+ )?(is|will|at|in|on|scheduled|after)\b;
    (another|further|more|additional|new) (delivery )?attempts? (\w+ )?will;
    (weiter|weiterhin|erneut|nochmals|noch ?mal|wiederholt|wieder|automatisch) (\S+ )?(zu )?(versucht|versuchen|versuche|zuzustellen|
      zugestellt|probiert); versuch\S* (\S+ ){0,4}(fortgesetzt|wiederholt|unternommen|fortsetzen|durchgefuhrt|weiter|erneut|wiederholen);
    (weitere|neue|nachste\S*) (\S*zustell\S*|versuch\S*) (\S+ )*(werden|wird|folg|erfolg|unternommen|statt);
    wird (es )?(\S+ )?(weiter|erneut) (\S+ )?versuch;
    (sera|seront|va|vont|etre) (\S+ )?(re(essay|tent|exp|present)\S*|(essay|tent)\S* (a|de) nouveau|renouvel\S*);
    (nouvelles?|autres|prochaines?|ulterieures) tentatives? (\S+ ){0,4}(ser|va|vont|aur|auront|effectu|est|sont)\S*;
    tentatives? (\S+ ){0,4}(continu|poursuiv|repet|renouvel)\S*; (continu|poursui)\S* (\S+ ){0,3}(essay|tent|achemin|remett|envoy)\S*;
    (re)?(essaie?|tente)ra(i|ons|ont)?\b;
    (seguir|continuar|volver|reintentar|intentar)\S*(a|an|emos) (\S+ )?(intent|a intent|entreg|envi|hasta|durante)\S*;
    se (re)?intentara\S*; reintent(ar|and|ara|o)\S*;
    (nuevos?|mas|otros) (re)?intentos? (\S+ )?(se |de )?(\S+ )?(realiz|har|efect|entrega)\S*;
    (continuar|tentar|voltar)\S*(a|emos|ao|ra) (\S+ )?(tent|a tent|entreg|envi|ate|durante|novamente)\S*;
    (sera|serao) (feitas?|realizadas?|efe\S+|tentad\S+|reenviad\S*) ?\S* ?(nova|novamente|mais|outras)?\S*;
    novas? tentativas? (\S+ )?(ser|de entrega ser)\S*;
    (continuer|riprover|ritenter|tenter)\S* (\S+ )?(a tent|a prov|tent|la consegna|di nuovo|per|fino|ad)\S*;
    (verr|sar)\S* (\S+ )?(ritentat|riprovat|effettuat|ripetut|fatt)\S*; (ulteriori|nuovi|altri) tentativi (\S+ )?(ver|sar|di)\S*;
    (opnieuw|nogmaals|verder|steeds) (\S+ )?(geprobeerd|proberen|worden|afgeleverd|bezorgd|aangeboden);
    (blijf|blijven|blijft) (\S+ ){0,5}(proberen|probeert); pogingen (\S+ ){0,4}(voortgezet|herhaald|ondernomen|gedaan|door);
    (nieuwe|verdere) pogingen; (fortsatter|fortsattes|kommer) (\S+ ){0,3}(forsok|leverer|prov)\S*; (nya|ytterligare) (leverans)?forsok;
    forsoker (\S+ )?(igen|pa nytt|ytterligare|under);
    (fortsaetter|fortsætter|fortsetter|vil) (\S+ ){0,3}(forsog|forsøg|prov|prøv|lever|a prove|å prøve|forsøk)\S*;
    (nye|yderligere|flere) (leverings)?fors(o|ø)[gk]; (prov|prøv)(er|es|e) (\S+ )?(igen|igjen|pa nytt);
    yrit\S+ (\S+ ){0,3}(uudelleen|edelleen|jatk|viela|toimit)\S*; (uudelleen|edelleen|jatkossa) (\S+ )?(yrit|lahet|toimit)\S*;
    jatk(aa|etaan|amme|uu|uvat) (\S+ )?(yrit|toimit)\S*; (ponown|kolejn|dalsz|nastepn)\S+ (\S+ )?(prob|dostarcz|dorecz)\S*;
    prob\S+ (\S+ ){0,3}(ponawian|kontynuowan|podejmowan|bed)\S*;
    (bedzie|bedziemy|bed[aą]) (\S+ )?(ponawia|probowa|nadal|ponown|kontynuowa)\S*; (sprobuje|sprobujemy|nadal probuj)\S*;
    (pokus|doruc)\S* (\S+ ){0,4}(opakov|pokrac|znovu|znova)\S*;
    (znovu|znova|nadale|opet|opat|nadalej|dale) (\S+ ){0,2}(pokus|doruc|zkus|skus|odes|odos)\S*;
    (bude|budou|budu) (\S+ )?(opakovan|pokracovat)\S*;
    (ujra|tovabb|ismet|folyamatosan|tovabbra is) (\S+ )?(probal|kiserl|megprobal|kezbes)\S*;
    (megprobal|probalkoz|kiserl)\S* (\S+ ){0,3}(folytat|ujra|tovabb|ismet)\S*; (megprobalja|megprobaljuk|probalkozunk)\b;
    (va|vom|vor|se va|se vor) (\S+ )?(incerca|reincerca|relua|continua|repeta)\S*; incercar\S* (\S+ ){0,3}(continu|relua|repet)\S*;
    (noi|alte) incercari; θα (\S+ )?(συνεχ|ξαναπροσπαθ|επαναλ|προσπαθησ|γινουν|δοκιμασ)\S*; (νεες|νεα|περαιτερω) (προσπαθει|αποπειρ)\S*;
    προσπαθειες (\S+ ){0,2}θα; попытк\S* (\S+ ){0,3}(продолж|повтор|предприн|будут|возобнов|осуществ)\S*;
    (будет|будем|будут) (\S+ ){0,2}(повтор|продолж|пыта|предпри)\S*; продолж\S* (\S+ ){0,2}(попыт|пыта|достав)\S*;
    (попытается|попробует|попробуем|попытаемся) (\S+ )?(снова|еще|повтор|достав)\S*; (повторн|следующ|дальнейш)\S+ попытк\S*;
    спроб\S* (\S+ ){0,3}(продовж|повтор|будуть|зроблен|здійсн)\S*; (буде|будемо|будуть) (\S+ ){0,2}(повтор|продовж|намага|спроб)\S*;
    продовж\S* (\S+ ){0,2}(спроб|намага|достав)\S*; (повторн|наступн|подальш)\S+ спроб\S*; опит\S* (\S+ ){0,3}(продълж|повтор|ще)\S*;
    ще (\S+ ){0,2}(опит|продълж|повтор)\S*; нов\S* опит\S*;
    (tekrar|yeniden) (denen(?!me[yz])|dene(?!n|me[yz])|gonderilmeye|teslim edilmeye)\S*; denemeye devam;
    (deneme|teslim|gonder)\S* (\S+ ){0,2}(devam ed|surdur)\S*; (再送|再試行|再配信|リトライ|再度.{0,4}(配信|送信|配送)|再度試).{0,8}(ます|中|れる|行|予定|続|する);
    (引き続き|継続して|繰り返し|自動的に).{0,12}(試|送|配信|配送); (配信|送信|配送)を(試み|続け|継続);
    (继续|繼續|将会?|將會?|会|會|自动|自動|系统|系統|不断|不斷|正在).{0,8}(尝试|嘗試|重试|重試|重发|重發|再次投递|再次投遞|再次发送|再次發送|重新投递|重新投遞|重新发送); (重试|重試|重新投递)(中|次);
    계속.{0,10}(시도|전송|배달|발송); (재시도|재전송|재발송)(를|을|가|이)?.{0,4}(합니다|할|될|하겠|됩|중|예정|계속|하고);
    (다시|자동으로|재차).{0,6}(시도|전송|배달|발송)(합니다|할 것|하겠|될|됩|할 예정|을 계속|하고)
  `)

/** A mail that has arrived, or was handed on. A negation beside the words says that it has not. */
export const DELIVERED = anyOf(String.raw`
    (?<!un)success(ful|fully)? (\w+ )?(deliver|relay|transmi|sent)\w*;
    (deliver|relay|transmi|sent)\w*( \w+){0,4} (?<!un)(successful(ly)?|succeeded|with success|is complete|completed|has completed)\b;
    (was|were|has been|have been) (successfully |safely )?(delivered|relayed|handed|forwarded) (to|in|into|on|by|via|success|at|and)\b;
    (was|were|has been|have been) (successfully )?(delivered|relayed)\W*$; relayed to (a )?(non|mailer|host|system|another|the)\w*;
    delivered (to|into|in) (the |your |its |his |her |their )?(mailbox|inbox|recipient|destination|local|following)\w*;
    successful delivery; ^(delivered|relayed|expanded)( to)?:; \((success|relay|relayed|delivered)\); ^return receipt\b;
    erfolgreich (\S+ )?(zugestellt|ubermittelt|ausgeliefert|versendet|versandt|zustell|weitergeleitet)\S*;
    (wurde|ist|wurden|sind) (\S+ ){0,6}?(zugestellt|ausgeliefert|weitergeleitet|ubermittelt)\b;
    zustellung (\S+ ){0,6}?(erfolgreich|abgeschlossen); ^(zugestellt|ubermittelt|weitergeleitet):;
    (a|ont) (bien )?ete (\S+ )?(remis|distribue|delivre|livre|transmis|achemine|relaye)\S*;
    (remise|distribution|livraison) (\S+ ){0,6}?(reussie|effectuee|terminee); (remis|distribue|delivre|livre)\S* avec succes;
    ^(remis|relaye|transmis)e? ?:; (ha|han|se ha|fue|fueron) (sido )?(entregad[oa]s?|retransmitid[oa]s?)\b;
    se entrego (correctamente|con exito|a); entregad[oa]s? (correctamente|con exito|satisfactoriamente|a los|al destinatario);
    (entrega|envio) (realizad[oa]|correct[oa]|complet)\S*; ^(entregado|retransmitido):;
    (foi|foram) (\S+ )?(entregues?|retransmitid[oa]s?)\b; entregues? com (exito|sucesso);
    entrega (bem sucedida|concluida|realizada|bem-sucedida); ^(entregue|retransmitid[oa]):;
    (e|sono) stat[oaie] (\S+ )?(consegnat|recapitat|inoltrat)[oaie]\b; (consegnat|recapitat)[oaie] (correttamente|con successo);
    (consegna|recapito) (riuscit|completat|effettuat)\S*; ^(recapitato|consegnato|inoltrato):;
    (is|zijn|werd|werden) (\S+ ){0,4}?(bezorgd|afgeleverd|doorgestuurd)\b; (succesvol|met succes) (bezorgd|afgeleverd|verzonden);
    ^(bezorgd|afgeleverd|doorgestuurd):; (har )?levererats\b; (har|blev) (\S+ )?levererat?s?\b;
    leveransen (ar|har) (\S+ )?(lyckats|slutford|klar)\S*; ^levererat:;
    (er|blev|ble|har) (blevet |blitt )?(\S+ )?(leveret|levert|afleveret)\b;
    (leveringen|levering) (er |var )?(gennemfort|gjennomfort|fullfort|vellykket)\S*; ^(leveret|levert):;
    (on|onnistuneesti) (\S+ )?toimitettu\b; toimitettiin\b; toimitus onnistui; ^toimitettu:;
    zosta[lł]\S* (\S+ )?(dostarczon|doreczon|przekazan)\S*; pomyslnie (dostarczon|doreczon)\S*; ^(dostarczono|doreczono):;
    (byl|bol)[ao]? (\S+ )?(dorucen|preda)\S*; (uspesne|uspesne) dorucen\S*; ^(doruceno|dorucene):; sikeres(en)? (\S+ )?kezbes\S*;
    kezbesitve\b; kezbesitettuk\b; ^kezbesitve:; (a|au) fost (\S+ )?(livrat|transmis|predat)\S*; livrat\S* cu succes; ^livrat:;
    παραδοθηκ\S*; επιτυχ\S+ παραδ\S*; (был\S* |успешно )(\S+ )?доставлен\S*; доставлен\S* (успешно|получател|адресат|в почтов)\S*;
    успешн\S+ доставк\S*; ^доставлено:; (був|було|була|успішно) (\S+ )?доставлен\S*; доставлен\S* (успішно|одержувач|адресат)\S*;
    (беше|бе|е|успешно) (\S+ )?(доставен|доставено)\S*; (teslim edildi|basariyla (teslim|ilet|gonder)\S*); ^teslim edildi:;
    (正常に|無事).{0,6}(配信|送信|配達|配送); (配信|配達|配送|送達)(され|でき|済み|完了|しました|いたしました); (已|已经|成功).{0,4}(送达|投递|送達|投遞|传递|傳遞|寄达)(?!失);
    (送达|送達|投递|投遞|发送|發送)成功; 成功(发送|發送|送); (성공적으로|정상적으로|정상).{0,6}(전달|배달|전송|발송); (전달|배달)(되었|됐|완료)
  `)

/** Words before a phrase, or within it, that turn its meaning. */
export const NEGATED = anyOf(String.raw`
    \b(not|never|no|nor|neither|without|cannot|nicht|kein\S*|nie|ohne|pas|jamais|aucun\S*|sans|ni|sin|nunca|nao|nem|sem|nenhum\S*)\b;
    \b(non|nessun\S*|senza|niet|geen|nooit|inte|ingen|inga|ikke|uden|uten|ei|eika|eivat|ilman|bez|nebyl\S*|nebol\S*|nebud\S*|neni)\b;
    \b(zadn\S*|ziadn\S*|nem|sem|nincs|nu|fara|nici)\b; \w+n['’]t\b; sikertelen; neuspe; (не|ни|нет|без|немає|няма|δεν|χωρις|δε)(?=\s|$);
    ません; ない; できず; 不(?!断|斷); 未; 没; 沒; 无法; 無法; 않; 못; 없
  `)
/** Words behind a phrase that turn its meaning. */
export const NEGATED_AFTER = anyOf(String.raw`
    ^.{0,10}\b(nicht|niet|ikke|inte|nie|pas|no longer|degil)\b; ^.{0,6}\s(не)\s; ^.{0,10}(ません|ない|않|못|없|中止)
  `)

/** A sentence about what may happen. */
export const CONDITIONAL = anyOf(String.raw`
    \b(if|unless|whether|otherwise|in case|in the event|eventually|when (that|this) happens|by that time|provided that|as long as|(you|
      it|this|there|we|they|the \w+) (may|might))\b; \bshould (it|the|this|that|your|delivery|we|these|all|any)\b;
    \byou (will|shall|\w+'ll) (be )?(still |then |only |also )?(notified|informed|receive|get|hear)\b; will (be )?(notif|inform)\w* you;
    \b(wenn|falls|sofern|sollten?|andernfalls|sonst|gegebenenfalls|eventuell|ob)\b; \bwerden sie (\S+ )?(benachrichtigt|informiert);
    \b(s['’]il\S*|sinon|autrement|au cas ou|dans le cas|eventuelle?ment|lorsque)\b;
    \bsi (le|la|les|l['’]|votre|ce|cette|vous|elle|un|ces|el|su|no|en|este|esta|se|los|las|tu|usted|persiste|sigue)\b;
    \b(en caso|de lo contrario|cuando|quando|caso|senao|contrario|altrimenti|in caso|qualora|nel caso)\b;
    \bse (a (mensagem|entrega)|o (e-?mail|servidor|problema)|il|la consegna|la mail|il messaggio|lo|entro|questo|quest|non (sara|verra|
      viene|dovesse|riesce)|nao (for|conseguir|puder)|houver|isso|for)\b;
    \b(als (het|de|dit|uw|deze|er|u|we|wij)|indien|mocht|tenzij|anders|zodra|om (det|den|meddelandet|leveransen|detta|inte|du|mailet)|
      ifall|savida|annars|hvis|safremt|medmindre|dersom|med mindre|ellers|saafremt)\b;
    \b(jos|mikali|muuten|ellei|jesli|jezeli|gdy|gdyby|o ile|w przypadku|pokud|jestlize|kdyz|kdyby|v pripade|pokial|ak|keby|ked|ha|
      amennyiben|abban az esetben|daca|in cazul|altfel|eger|aksi)\b; (durumunda|takdirde|halinde|[ae]mezse\b|[ae]mazsa\b|ilirse|olursa);
    (если|иначе|в случае|когда|якщо|інакше|у разі|в разі|коли|ако|иначе|в случай|αν|εαν|αλλιως|σε περιπτωση|οταν)(?=\s|,|$);
    (場合|なければ|れば|たら|ときは); (如果|若(?!干)|倘若|一旦|万一|萬一|的话|的話|否则|否則); (경우|으면|하면|되면)
  `)

/** A sentence that says that something is no failure. */
export const NO_FAILURE = anyOf(String.raw`
    \b(no|not an?|not yet an?|without|neither an?|isn['’]t an?|zero) (\w+ ){0,2}(failures?|errors?|bounces?|problems?|rejections?|
      non-?delivery)\b;
    \b(has|have|did|was|is|does|were) ?(not|n['’]t)( yet)? (failed|fail|bounced|rejected|refused|permanent\w*|fatal|final)\b;
    not (a )?(permanent|fatal|final); \b(kein|keine|keinen|keiner|ohne) (\S+ )?(fehler|ablehnung|unzustellbarkeit|problem)\S*;
    nicht (\S+ )?(endgultig|fehlgeschlagen|gescheitert|abgelehnt);
    (n['’](a|ont|est) pas|pas|aucune?|sans) (encore |d['’]|une |un |en )*(echou|erreur|echec|rejet|definiti|refus)\S*;
    \b(no (ha|han|hay|es|se trata de) ?(un |una |ningun |ningun[ao] )?(fallado|error|fallo|rechaz|definitiv)|sin (errores|error|fallos)|
      nao (ha|houve|e um|e uma|falhou)|sem (erros|falhas?)|non (e|ci sono|e un|ha) ?(un |errori|fallit|errore|definitiv)|senza errori|
      geen (fout|probleem|definitieve)|niet (definitief|mislukt)|inga fel|inte misslyckats|ingen fejl|ikke mislykk|ei virheita)\S*;
    не (окончательн|ошибк|отказ|является)\S*; (нет|без) ошиб\S*; не (остаточн|помилк|є)\S*; 不是(错误|失败|錯誤|失敗); 没有(错误|失败);
    (エラー|失敗)では(ありません|ない); (오류|실패)가 아니
  `)

/** Trouble that may pass, which proves neither a delay nor a failure. */
export const TROUBLED = anyOf(String.raw`
    for (more than |over |at least |the (last|past) )*[\d.]+ ?(second|minute|hour|day|hr)(s|\(s\))?;
    (seit|depuis|desde|da|fra|sinds|sedan|siden) (\S+ ){0,3}\d+; temporar(y|ily); transient; deferred; \bdelay(ed|s)?\b;
    (soft|non-?permanent) (bounce|fail|error)\w*; vorubergehend; temporar\S*; zeitweilig; temporairement; temporaire; temporalmente;
    temporal\b; temporariamente; temporanea\S*; tijdelijk; tillfallig; midlertidig; valiaikai; tymczasow; docasn; ideiglenes; atmeneti;
    temporar; προσωριν; временн; тимчасов; gecici; 一時的; 暂时; 暫時; 临时; 臨時; 일시적; 임시
  `)

/** Sentences that say that a mail has failed, without its cause. */
export const FAILED = anyOf(String.raw`
    (could|can|did|was|were|has|have|is) ?(n['’]t|not)( been?| be)? (able to be )?(deliver|reach|sent|accepted|relayed|processed|
      forwarded); un-?deliver; non-?deliver; cannot (be )?(deliver|sen[dt]|reach);
    (un|not |\w+n['’]t (been )?)able to (deliver|relay|send|route|be delivered|reach|contact|transmit|transfer|forward);
    (delivery|delivering|deliver|sending|transmission|transfer) * (fail|error|reject|abort|refused|not possible|impossible|unsuccessful|
      stopped|ended); (fail|error|problem)(ed|ure|s)? * (deliver|send|transmi|recipient|address);
    (address|recipient)(es|s|\(es\)|\(s\))? (\w+ ){0,3}(failed|not found|rejected|bounced|were invalid); has been returned;
    returned to (you|sender|the sender); returning (message|mail) to;
    (was|were|been|being|is) (rejected|refused|bounced|blocked|quarantined|discarded|dropped|returned);
    (rejected|refused|bounced) (by|your|because); (?<!non-?)fatal errors?; permanent(ly)? (\w+ )?(error|fail|undeliver|reject|problem)\w*;
    (failed|rejected) permanently; giv(en|ing) up; gave up;
    (no longer|not|never) (be |going to )?(re-?tr(y|ied)|tried|try|attempt\w*)( again)?; no (further|more) (delivery )?(attempt|retr)\w*;
    (deleted|removed|discarded) from (the )?(mail )?queue; (too long|expired) (in|on) (the )?queue; in the queue (too|for too) long;
    cannot send message for \d+ days; (retry|delivery|queue) (time ?out|time|limit|lifetime)( was| has been)? (exceeded|expired|reached);
    message (has )?expired; stopped trying;
    nicht (\S+ )?(zugestellt|moglich|zustellen|ausgeliefert|ubermittelt|zustellbar|gesendet|erreicht|weitergeleitet)\S*; unzustellbar;
    (zustell|ubermitt|versand|send)\S* (\S+ ){0,4}(fehlgeschlagen|gescheitert|fehlgeschlag|abgelehnt|abgebrochen|unmoglich|fehler)\S*;
    (endgultig|dauerhaft|permanent)\S* (\S+ )?(fehl|gescheitert|abgelehnt|aufgegeben)\S*;
    (wurde|wird|werden) (\S+ )?(abgelehnt|abgewiesen|zuruckgewiesen|zuruckgesandt|zuruckgeschickt|zuruckgegeben);
    n['’](a|ont) pas (pu|ete|atteint); ne (peut|peuvent|pourra) (pas )?(\S+ )?(etre )?(remis|distribu|livr|deliv|achemin|transmis)\S*;
    non (remis|distribu|delivr)\S*; echec (\S+ )?(de |de la |d['’])?(remise|distribution|livraison|envoi|transmission|achemin)\S*;
    (a|ont) echoue; impossible (de |d['’])(remettre|distribuer|livrer|delivrer|envoyer|acheminer|transmettre);
    (a|ont) ete (rejete|refuse|retourne|renvoye)\S*; definitivement; abandonn\S*;
    no (se )?(pudo|puede|ha podido|han podido|pudieron|fue posible|ha sido posible|fue entregad|ha sido entregad|llego)\S*;
    (fallo|error|problema)s? (\S+ )?(en|de|al|durante) (la |el )?(entrega|entregar|envi)\S*;
    (entrega|envio) (\S+ )?(fall|fracas|rechaz|imposible)\S*; (fue|ha sido|han sido) (rechazad|devuelt|bloquead)\S*;
    imposible (entregar|enviar); fallo (permanente|definitivo);
    nao (foi|foram|pode|podem|conseguiu|conseguimos|puderam|sera)\S* (\S+ )?(possivel |ser )?(entreg|envi|conseg|alcan|transm)\S*;
    nao foi entregue; nao (foi|pode); (falha|erro)s? (\S+ )?(na|de|ao|no) (entreg|envi)\S*;
    (foi|foram) (rejeitad|devolvid|recusad|bloquead)\S*; impossivel (entregar|enviar);
    non (e stat|sono stat|puo|possono|e possibile|e riuscit|ha potuto|consegnat|recapitat)\S*;
    impossibile (consegnare|recapitare|inviare|trasmettere); mancat[ao] (recapito|consegna);
    (consegna|recapito|invio) (\S+ )?(fallit|rifiutat|impossibil)\S*; e stat[oa] (rifiutat|respint|restituit|bloccat)\S*;
    errore (\S+ )?(di|nella|durante) (la )?(consegna|invio|recapito);
    kon(den)? niet (\S+ ){0,3}(worden )?(bezorgd|afgeleverd|verzonden|afleveren|bezorgen|bereik)\S*; kon(den)? niet;
    (is|zijn|werd|wordt) niet (\S+ )?(bezorgd|afgeleverd)\S*; kan niet (worden )?(bezorgd|afgeleverd);
    (aflever|bezorg|verzend)\S* (\S+ )?(mislukt|geweigerd)\S*; onbestelbaar; niet (bezorgd|afgeleverd);
    (is|werd) (geweigerd|teruggestuurd|geblokkeerd);
    (kunde|kan|gick|har) (\S+ )?(inte|ej) (\S+ ){0,2}(levere|leverans|skick|na fram|natt)\S*; inte (levererats|levereras|att leverera);
    (leverans|sand)\S* (\S+ )?misslyck\S*; (kunne|kan|blev|ble|er) ikke (\S+ ){0,3}(lever|aflever|send|sendt)\S*;
    (levering|afsend|send)\S* (\S+ )?(mislykk|mislykked|feil|fejl)\S*; ei (voitu|voida|voi|ole|onnistu)\S* (\S+ )?(toimit|lahet|valit)\S*;
    (toimit|lahet)\S+ (\S+ )?epaonnistu\S*; nie (moze|mog|zosta|uda|dostarcz|powiod|dorecz)\S*;
    (dostarcz|dorecz|wysyl|wyslan)\S* (\S+ )?(nie powiod|niepowodz|niemozliw|odrzuc)\S*; niedostarcz\S*; zosta\S* (odrzucon|zwrocon)\S*;
    (nelze|nemohl|nemoze|nemohol|nebyl|nebol|nepodar|nedoruc|nemohla|nemohlo|nebylo|nebola|nebolo)\S*;
    (doruc)\S* (\S+ )?(selhal|zlyhal|neuspe|odmitn|odmiet)\S*; nem (kezbes|tudt|siker|lehet|volt)\S*; kezbesithetetlen;
    kezbesites(e)? (\S+ )?(sikertelen|meghiusult)\S*; sikertelen (kezbes|kuld)\S*; visszautasit\S*;
    nu (a|au|s-a|poate|pot) (\S+ )?(putut|fost|fi|livra|ajuns|transmis)\S*; (livrar|trimiter)\S* (\S+ )?(esua|respins)\S*;
    (a fost|au fost) (respins|returnat|refuzat)\S*; δεν (\S+ )?(παραδοθηκ|παραδοθει|ηταν δυνατ|μπορει|μπορεσ|ειναι δυνατ)\S*;
    αποτυχια (\S+ )?(παραδ|αποστολ)\S*; απορριφθηκε; не (может|могут|удалось|было|было бы|был|была|доставлен|может быть|удается|смог)\S*;
    недостав\S*; (доставк|отправк)\S* (\S+ )?(не удал|невозможн|отклонен|не выполн|заверш\S* ошибк|прервана|прекращ)\S*;
    (было|был|была) (отклонен|отвергнут|возвращен|отправлено обратно)\S*; ошибк\S* (\S+ )?(доставк|при отправ|отправк)\S*;
    невозможно (доставить|отправить); (окончательн|прекращ)\S+; не (може|можуть|вдалося|було|був|була|доставлен|вдаеться)\S*;
    неможливо (доставити|надіслати); помилк\S* (\S+ )?(доставк|надсил)\S*; (було|був) (відхилен|повернут)\S*;
    не (може|можа|беше|бе|е) (\S+ )?(да бъде |доставен|доставено|получен)\S*; (доставк|изпращан)\S* (\S+ )?(неуспеш|провал)\S*;
    teslim (edilemedi|edilemiyor|edilemez|edilmedi); (iletilemedi|gonderilemedi|ulasmadi|ulastirilamadi|reddedildi);
    (teslim|gonderim|iletim)\S* (\S+ )?basarisiz; (送信|配信|配達|配送|送達|お届け)(が|は|を|に)?.{0,6}(できません|できませんでした|出来ません|失敗|不能|エラー|不可|拒否|中止|断念);
    届け.{0,8}(ません|ない|できま); 届きません; 送れません; 送信エラー; エラーのため; 返送|返信されました; 拒否されました;
    (无法|無法|未能|不能|没有|沒有|不).{0,10}(送达|投递|发送|送達|投遞|發送|传递|傳遞|传送|傳送|到达|接收|成功); 无法|無法; (投递|投遞|发送|發送|传送|傳送|送达|送達|传递|傳遞).{0,4}(失败|失敗|错误|錯誤|出错);
    失败|失敗; 退回|退信; 拒绝|拒絕|被拒; 放弃|放棄; (전달|배달|전송|발송|보내).{0,6}(못|않|수 없|실패|불가|오류|거부|되지); 반송; 실패; 거부되었
  `)
