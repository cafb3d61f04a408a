// The contrast (WCAG 2.1) of every text of the reports with what lies behind it, as a list of numbers.
() => {
    const rgb = text => (text.match(/[\d.]+/g) || [0, 0, 0, 0]).map(Number);
    const linear = x => (x /= 255) <= 0.03928 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4;
    const light = c => 0.2126 * linear(c[0]) + 0.7152 * linear(c[1]) + 0.0722 * linear(c[2]);
    const over = (top, a, below) => top.map((x, i) => a * x + (1 - a) * below[i]);
    const values = [];
    for (const report of document.querySelectorAll('.jp-RenderedHTML > div[style*="border-left"]'))
        for (const e of report.querySelectorAll('*')) {
            if (![...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim())) continue;
            const layers = [];
            let alpha = 1;
            for (let p = e; p; p = p.parentElement) {
                const style = getComputedStyle(p);
                if (report.contains(p)) alpha *= Number(style.opacity);
                const [r, g, b, a = 1] = rgb(style.backgroundColor);
                if (a > 0) layers.push([[r, g, b], a]);
                if (a === 1) break;
            }
            let back = [255, 255, 255];
            for (const [colour, a] of layers.reverse()) back = over(colour, a, back);
            const text = over(rgb(getComputedStyle(e).color).slice(0, 3), alpha, back);
            const [x, y] = [light(text), light(back)].sort((p, q) => q - p);
            values.push((x + 0.05) / (y + 0.05));
        }
    return values;
}
