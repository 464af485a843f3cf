import java.nio.*;
import java.util.*;
import java.util.concurrent.*;

/** A program around what a test does; each line that it prints is a string of JSON. */
public class Main {
    interface Action {
        void run() throws Exception;
    }

    /** Says what an action throws. */
    static void error(Action action) {
        try {
            action.run();
            say("nothing");
        } catch (Throwable problem) {
            say(problem.getClass().getSimpleName() + ": " + problem.getMessage());
        }
    }

    static void say(Object what) {
        StringBuilder text = new StringBuilder();
        for (char c : String.valueOf(what).toCharArray()) {
            boolean plain = c >= ' ' && c <= '~' && c != '"' && c != '\\';
            text.append(plain ? String.valueOf(c) : String.format("\\u%04x", (int) c));
        }
        System.out.println('"' + text.toString() + '"');
    }

    static ByteBuffer nativeOrder(ByteBuffer buffer) {
        return buffer.order(ByteOrder.nativeOrder());
    }

    static ByteBuffer part(ByteBuffer buffer, int position, int limit) {
        ByteBuffer found = nativeOrder(buffer.duplicate());
        found.position(position).limit(limit);
        return found;
    }

    public static void main(String[] arguments) throws Exception {
        /* BODY */
    }
}
