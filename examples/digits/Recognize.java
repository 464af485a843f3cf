import ccml.digits.Digits;
import java.io.FileInputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import java.util.zip.ZipEntry;
import java.util.zip.ZipInputStream;

/** Classifies the test images by the compiled model: java -cp digits.jar Recognize.java digits_test.npz */
public final class Recognize {
    private static final int SHOWN = 10;

    private Recognize() {
    }

    public static void main(String[] arguments) throws IOException {
        final Map<String, ByteBuffer> arrays = read(arguments[0]);
        final ByteBuffer images = arrays.get("image.npy");
        final ByteBuffer labels = arrays.get("label.npy");
        final float[] image = new float[Digits.IMAGE_ELEMENTS];
        final float[] logits = new float[Digits.LOGITS_ELEMENTS];
        int count = 0;
        int correct = 0;
        try (Digits model = new Digits()) {
            while (images.hasRemaining()) {
                for (int at = 0; at < image.length; at++) {
                    image[at] = images.getFloat();
                }
                final long label = labels.getLong();
                model.run(image, logits);
                final int digit = argmax(logits);
                if (count < SHOWN) {
                    System.out.println("image " + count + ": recognised " + digit + ", label " + label);
                }
                count++;
                correct += digit == label ? 1 : 0;
            }
        }
        System.out.println(correct + " of " + count + " correct");
    }

    private static int argmax(float[] values) {
        int best = 0;
        for (int at = 1; at < values.length; at++) {
            best = values[at] > values[best] ? at : best;
        }
        return best;
    }

    /** The elements of the arrays in a file of NumPy's format .npz, by name, little endian. */
    private static Map<String, ByteBuffer> read(String file) throws IOException {
        final Map<String, ByteBuffer> arrays = new HashMap<>();
        try (ZipInputStream zip = new ZipInputStream(new FileInputStream(file))) {
            for (ZipEntry entry = zip.getNextEntry(); entry != null; entry = zip.getNextEntry()) {
                arrays.put(entry.getName(), elements(ByteBuffer.wrap(zip.readAllBytes())));
            }
        }
        return arrays;
    }

    /** What follows the header of an .npy file, of version 1: 8 bytes, the length of a text, that text. */
    private static ByteBuffer elements(ByteBuffer content) throws IOException {
        content.order(ByteOrder.LITTLE_ENDIAN);
        final int start = 10 + Short.toUnsignedInt(content.getShort(8));
        final String header = new String(content.array(), 10, start - 10, StandardCharsets.US_ASCII);
        if (!header.contains("'<f4'") && !header.contains("'<i8'")) {
            throw new IOException("expected floats or long integers: " + header);
        }
        return content.position(start).slice().order(ByteOrder.LITTLE_ENDIAN);
    }
}
