package carillon.api.schema;

import carillon.api.error.ValidationErrors;
import carillon.model.TenantId;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;

/**
 * The schemas that were needed last, compiled. Each is compiled once, however many ask for it at
 * the same time, and nobody waits for the compiling of another.
 */
final class CompiledSchemas {

  private static final long MOST_BYTES = 32 << 20;

  /** For what is around each, so that many small ones weigh something too. */
  private static final long BYTES_PER_ENTRY = 5_000;

  private final Function<String, Optional<PayloadSchema>> compiler;
  private final long mostBytes;

  /** In the order of their last use. */
  private final Map<TypeName, Entry> entries = new LinkedHashMap<>(16, 0.75f, true);

  private long bytes;

  private record TypeName(int tenant, String name) {}

  CompiledSchemas() {
    this(text -> PayloadSchema.compile(text, "", new ValidationErrors()), MOST_BYTES);
  }

  CompiledSchemas(Function<String, Optional<PayloadSchema>> compiler, long mostBytes) {
    this.compiler = compiler;
    this.mostBytes = mostBytes;
  }

  /** Empty if the text is no schema that can be used. */
  Optional<PayloadSchema> of(TenantId tenant, String type, String text) {
    TypeName name = new TypeName(tenant.value(), type);
    Entry entry = entry(name, text);
    if (!entry.isCompiled) {
      entry.compile(compiler);
      weigh(name, entry);
    }
    return entry.schema;
  }

  /** Known by its text: a type that was deleted and made again starts with version 1 again. */
  private synchronized Entry entry(TypeName type, String text) {
    Entry known = entries.get(type);
    if (known != null && known.text.equals(text)) {
      return known;
    }
    Entry entry = new Entry(text);
    entries.put(type, entry);
    bytes -= known == null ? 0 : known.bytes;
    return entry;
  }

  /** Its weight is known only now; what was not used for longest makes room for it. */
  private synchronized void weigh(TypeName type, Entry entry) {
    if (entries.get(type) != entry || entry.bytes > 0) {
      return; // replaced in the meantime, or weighed by another who waited for it
    }
    entry.bytes = BYTES_PER_ENTRY + entry.schema.map(PayloadSchema::bytes).orElse(0L);
    bytes += entry.bytes;
    Iterator<Entry> eldest = entries.values().iterator();
    while (bytes > mostBytes && eldest.hasNext()) {
      bytes -= eldest.next().bytes;
      eldest.remove();
    }
  }

  /** How many are kept, and those that are being compiled. */
  synchronized int size() {
    return entries.size();
  }

  private static final class Entry {

    private final String text;
    private Optional<PayloadSchema> schema = Optional.empty();

    /** Set after the schema, so who reads it true may read the schema. */
    private volatile boolean isCompiled;

    /** Zero until it was weighed; guarded by the map's lock. */
    private long bytes;

    Entry(String text) {
      this.text = text;
    }

    /** The first to come compiles, the others wait here. */
    synchronized void compile(Function<String, Optional<PayloadSchema>> compiler) {
      if (!isCompiled) {
        schema = compiler.apply(text);
        isCompiled = true;
      }
    }
  }
}
