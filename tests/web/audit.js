// Measures of the page that is shown: a list of faults. Contrast as
// WCAG 2.1 computes it.
function audit() {
  const faults = [];
  const fault = (what, element) => faults.push(what + (element ? ': ' + element.outerHTML.slice(0, 120) : ''));
  const seen = (element) => element.checkVisibility({checkOpacity: true, checkVisibilityCSS: true}) && !element.closest('.unseen');

  // Colours
  const parse = (text) => {
    const numbers = text.match(/[\d.]+/g).map(Number);
    return {rgb: numbers.slice(0, 3), alpha: numbers.length > 3 ? numbers[3] : 1};
  };
  const over = (top, below) => top.rgb.map((one, i) => one * top.alpha + below[i] * (1 - top.alpha));
  const backgroundOf = (element) => {
    if (!element) return [255, 255, 255];
    const own = parse(getComputedStyle(element).backgroundColor);
    return own.alpha === 1 ? own.rgb : over(own, backgroundOf(element.parentElement));
  };
  const luminance = (rgb) => {
    const [r, g, b] = rgb.map((one) => {
      const share = one / 255;
      return share <= .03928 ? share / 12.92 : ((share + .055) / 1.055) ** 2.4;
    });
    return .2126 * r + .7152 * g + .0722 * b;
  };
  const contrast = (one, other) => {
    const [high, low] = [luminance(one), luminance(other)].sort((a, b) => b - a);
    return (high + .05) / (low + .05);
  };
  let measured = 0;
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const element = texts.currentNode.parentElement;
    if (!texts.currentNode.data.trim() || !seen(element) || element.closest(':disabled, script, noscript, option')) continue;
    const style = getComputedStyle(element);
    const background = backgroundOf(element);
    const ratio = contrast(over(parse(style.color), background), background);
    const size = parseFloat(style.fontSize);
    const needed = size >= 24 || size >= 18.66 && Number(style.fontWeight) >= 700 ? 3 : 4.5;
    ++measured;
    if (ratio < needed) fault(`contrast ${ratio.toFixed(2)} below ${needed}`, element);
    if (size < 12) fault(`text of ${size} px`, element);
  }
  if (measured < 10) fault(`only ${measured} texts were measured`);
  for (const control of document.querySelectorAll('input[type=number], select'))
    if (seen(control) && contrast(parse(getComputedStyle(control).borderTopColor).rgb, backgroundOf(control.parentElement)) < 3)
      fault('the edge of a control cannot be seen', control);

  // Names
  const nameOf = (element) => (element.getAttribute('aria-label') ||
    (element.getAttribute('aria-labelledby') || '').split(' ').map((id) => document.getElementById(id)?.textContent || '').join(' ') ||
    Array.from(element.labels || [], (label) => label.textContent).join(' ') ||
    element.getAttribute('alt') || (element.matches('input, select') ? '' : element.textContent)).trim();
  for (const element of document.querySelectorAll('a, button, input, select, summary, progress, canvas, dialog, [role=img]'))
    if (seen(element) && !element.closest('[aria-hidden=true]') && !(element.matches('canvas') && element.parentElement.closest('[role=img]')) && !nameOf(element))
      fault('no name', element);
  for (const image of document.querySelectorAll('img')) if (!image.hasAttribute('alt')) fault('no alt', image);
  for (const section of document.querySelectorAll('section, nav')) if (!nameOf(section) || !section.hasAttribute('aria-label')) fault('a landmark without a name', section);

  // Structure
  if (!document.documentElement.lang) fault('no language');
  for (const landmark of ['header', 'nav', 'main', 'footer'])
    if (document.querySelectorAll('body > ' + landmark + ', body > header ' + landmark).length !== 1) fault('not one ' + landmark);
  const headings = [...document.querySelectorAll('main h1, main h2, main h3')].filter(seen).map((one) => Number(one.tagName[1]));
  if (headings.filter((level) => level === 1).length !== 1 || headings[0] !== 1) fault('not one h1, first: ' + headings);
  headings.forEach((level, i) => { if (i && level > headings[i - 1] + 1) fault('a heading jumps: ' + headings); });
  const ids = [...document.querySelectorAll('[id]')].map((one) => one.id);
  ids.filter((id, i) => ids.indexOf(id) !== i).forEach((id) => fault('twice the id ' + id));
  for (const name of ['for', 'aria-describedby', 'aria-labelledby'])
    for (const element of document.querySelectorAll(`[${name}]`))
      for (const id of element.getAttribute(name).split(' ')) if (!document.getElementById(id)) fault(`${name} leads nowhere`, element);
  for (const table of document.querySelectorAll('table')) {
    if (!table.caption) fault('a table without a caption', table);
    if (table.querySelector('th:not([scope])')) fault('a heading of no column', table);
  }
  for (const style of document.querySelectorAll('style, [style*="url("], script:not([src])')) fault('style or script in the page', style);

  // Place
  const wide = document.documentElement.scrollWidth;
  if (wide > innerWidth) {
    const out = [...document.querySelectorAll('main *, header *')].find((one) => seen(one) && one.getBoundingClientRect().right > innerWidth + 1 && !one.closest('.scroll, nav'));
    fault(`${wide} px wide at ${innerWidth}`, out);
  }
  for (const card of document.querySelectorAll('.card')) {
    const edge = card.getBoundingClientRect().right;
    const out = [...card.querySelectorAll('*')].find((one) => seen(one) && one.getBoundingClientRect().right > edge && !one.closest('.scroll'));
    if (out) fault('it stands out of its card', out);
  }
  for (const target of document.querySelectorAll('button, .button, nav a, select, input:not([type=radio]):not([type=checkbox])')) {
    const box = target.getBoundingClientRect();
    if (seen(target) && (box.height < 24 || box.width < 24)) fault(`a target of ${Math.round(box.width)} by ${Math.round(box.height)} px`, target);
  }
  const place = [scrollX, scrollY];
  for (const button of document.querySelectorAll(document.querySelector('dialog[open]') ? 'dialog button' : 'main button, main .button')) {
    if (!seen(button) || button.disabled) continue;
    button.scrollIntoView({block: 'center', behavior: 'instant'});
    const box = button.getBoundingClientRect();
    const hit = document.elementFromPoint(box.left + box.width / 2, box.top + box.height / 2);
    if (!button.contains(hit)) fault('something lies over a button', button);
  }
  scrollTo(...place);
  return faults;
}
